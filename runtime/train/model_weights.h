// Weights of a model that is trained: what they begin with, and where they go.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "vantage/graph.h"

namespace vantage::internal {

/// What a model begins with: numbers that are drawn, or the files of a folder. Adapters that no folder has are drawn.
class StartingWeights {
public:
    StartingWeights(const ModelConfig& config, std::uint64_t seed) : config_(config), seed_(seed) {}
    /// Notes in `config` which optional weights the folder does not have. `adapters`: their folder; empty: there is
    /// none. `new_output_layer`: it is drawn, and so is a pooler that the folder does not have. Throws bad_file.
    StartingWeights(ModelConfig& config, std::uint64_t seed, const std::string& folder, const std::string& adapters,
                    bool new_output_layer);
    /// Throws bad_file for a tensor that is missing, of another shape, or not finite.
    std::vector<float> operator()(const Value& value) const;
    /// The name of a tensor in files.
    std::string name_in_files(const std::string& tensor) const;

private:
    bool is_drawn(const std::string& tensor) const;

    ModelConfig config_;
    std::uint64_t seed_ = 0;
    std::shared_ptr<const Checkpoint> checkpoint_;  ///< null: drawn
    bool new_output_layer_ = false;
};

/// Writes these weights as a file of f32 tensors.
void write_model_file(const std::string& path, const std::vector<Value>& weights, const StartingWeights& names,
                      const WeightValues& values);

}  // namespace vantage::internal
