// Training runs that another program has recorded: a model before and after, batches, losses and gradients.
//   train.json          {"hyper": {…}, "loss": […], "grad_norm": […] or "grad_norm_before_clip", "lr": […]}.
//                       Without the list, hyper has "lr" and what else learning_rates takes: "schedule", "warmup",
//                       "min_lr", "d_model", and "total", the steps of the schedule
//   data.safetensors    S steps of B sequences. Inputs: tokens [S, B, n + 1], each predicted from those before it,
//                       or input_ids [S, B, n], or pixel_values [S, B, C, H, W], or of CLIP both. Of
//                       encoder–decoders also decoder_input_ids [S, B, m]. Targets but those of CLIP are labels:
//                       of masked tokens [S, B, n], of answers [S, B, m], of texts or images that are classified
//                       [S, B]. A negative label is no target
//   grads0.safetensors  gradients of the first step before clipping
//   init/, final/       model folders; or config.json beside init.safetensors, final.safetensors and, if there is one,
//                       step1.safetensors: the parameters after the first step
// The format is that of tests/data/oracle/train and train_more.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/io/safetensors.h"
#include "runtime/train/training_data.h"
#include "runtime/train/training_graph.h"

namespace vantage::internal {

/// Values of a micro-batch by the names of the graph's inputs.
using MicroBatch = std::map<std::string, std::variant<std::vector<float>, std::vector<std::int32_t>>>;

/// What may differ; gradients and parameters by tensor: absolute + relative · its largest element.
struct TrainingTolerance {
    double loss, later_loss;                                             ///< of the first three steps, and after
    double norm;                                                         ///< relative
    double gradients, gradients_relative, first_parameters, parameters;  ///< parameters: after step 1, and at the end
};

class RecordedRun {
public:
    /// Throws bad_file where something is missing or does not fit.
    explicit RecordedRun(const std::string& folder);

    const ModelConfig& config() const { return config_; }
    const TrainingSettings& settings() const { return settings_; }
    const TrainingTolerance& tolerance() const { return tolerance_; }
    std::int64_t steps() const { return std::ssize(losses_); }
    std::int64_t micro_batches() const { return settings_.micro_batches; }
    double loss(std::int64_t step) const { return losses_[static_cast<std::size_t>(step)]; }
    double norm(std::int64_t step) const { return norms_[static_cast<std::size_t>(step)]; }
    MicroBatch batch(std::int64_t step, std::int64_t micro) const;
    bool has_first() const { return first_.has_value(); }  ///< whether there is a step1.safetensors
    /// Values of a parameter before the run, after its first step and after its last one, and its gradient in the first
    /// step; nothing where there is no such file, or it has none.
    std::optional<std::vector<float>> initial(const Value& parameter) const { return read(*initial_, parameter); }
    std::optional<std::vector<float>> first(const Value& parameter) const {
        return first_ ? read(*first_, parameter) : std::nullopt;
    }
    std::optional<std::vector<float>> final(const Value& parameter) const { return read(*final_, parameter); }
    std::optional<std::vector<float>> gradient(const Value& parameter) const { return read(*gradients_, parameter); }

private:
    void read_hyper(const JsonFields& fields);
    std::vector<float> rates_of(const JsonFields& fields) const;
    void read_sizes();
    const TensorEntry* find(const SafeTensors& file, const std::string& name) const;
    std::optional<std::vector<float>> read(const SafeTensors& file, const Value& parameter) const;
    template <class T>
    std::vector<T> numbers_of(const char* name, const char* dtype, std::int64_t each, std::int64_t step,
                              std::int64_t micro) const;
    std::vector<std::int32_t> tokens_of(const char* name, std::int64_t each, std::int64_t step,
                                        std::int64_t micro) const;
    std::vector<std::int32_t> labels_of(std::int64_t step, std::int64_t micro) const;
    std::int64_t targets_of(std::int64_t step) const;

    std::string folder_;
    ModelConfig config_;
    Task task_ = {};
    TrainingSettings settings_;
    TrainingTolerance tolerance_;
    std::vector<double> losses_, norms_;
    std::optional<SafeTensors> data_, initial_, first_, final_, gradients_;
};

}  // namespace vantage::internal
