// The graph of a training step: a model's forward pass, its loss, gradients, and the update of its parameters.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/models/config.h"
#include "runtime/ops/optimizer.h"
#include "runtime/ops/train_step.h"
#include "vantage/graph.h"
#include "vantage/ops.h"
#include "vantage/train.h"

namespace vantage::internal {

/// Sizes of a micro-batch, and how parameters are updated.
struct TrainingSettings {
    std::int64_t sequences = 1, rows = 0;  ///< sequences of a micro-batch, and tokens of each
    std::int64_t source_rows = 0;          ///< of an encoder–decoder: tokens of what its encoder reads
    std::int64_t micro_batches = 1;        ///< of a step
    std::int64_t head_rows = 0;            ///< see head_rows_of
    std::int64_t recompute = 0;            ///< as TrainOptions has it, but not -1
    /// Micro-batches that the host may write ahead: inputs are states [slots, …] of these names, host-visible. 0: they
    /// are inputs.
    std::int64_t slots = 0;
    bool documents = false;  ///< DatasetOptions::separate_documents
    CrossEntropyOptions loss = {};
    std::function<Tensor(const LossInputs&)> custom_loss = {};  ///< TrainOptions::loss
    double load_balance = 0;       ///< as TrainOptions has it; only for models with experts
    double dropout = 0;            ///< of sublayers' outputs and embeddings, see ModelBuilder::drop
    double attention_dropout = 0;  ///< of the weights of attention
    /// Matrix units multiply operands rounded to f16, with sums, parameters and all else in f32; what gradients are
    /// made from is multiplied by a loss scale, so that small ones do not vanish (Micikevicius et al. 2018).
    bool f16 = false;
    double loss_scale = 0;   ///< of f16: constant; 0: dynamic
    std::uint64_t seed = 0;  ///< of the numbers that dropout draws
    Optimizer optimizer = Optimizer::adamw;
    AdamOptions adam = {};  ///< of adamw and adam; `decoupled` follows the optimizer
    SgdOptions sgd = {};
    double weight_decay = 0;  ///< of matrices: parameters with one dimension have none
    UpdateOptions update = {};
    std::vector<float> rates = {};  ///< the learning rate of each step
};

namespace train_names {
/// Inputs of a micro-batch beside those of the model: i32 [rows of logits], negative where a row has no target, and
/// what each row's loss is multiplied by, f32 [rows of logits].
inline constexpr const char *targets = "targets", *loss_weights = "loss_weights";
inline constexpr const char* loss = "loss";                                ///< output, f32 [1]: of the micro-batch
inline constexpr const char *train = "train", *history = "train.history";  ///< states (shaders/params/train.h)
inline constexpr const char* norms = "train.norms";  ///< state f32 [TRAIN_HISTORY, TrainingStep::blocks]: of gradients
/// States of each parameter, which keeps its own name.
std::string gradient(const std::string& parameter);
std::string mean(const std::string& parameter);      ///< Adam's first moment, or the velocity of SGD
std::string variance(const std::string& parameter);  ///< Adam's second moment
}  // namespace train_names

struct TrainingStep {
    Graph graph;
    std::vector<Value> parameters;   ///< states with the weights' names, ascending by name
    std::vector<Value> inputs = {};  ///< what the host writes of a micro-batch
    /// Segments: a step runs those of `micro_batch` once for each, which adds to gradients, and then `update`.
    std::vector<int> micro_batch = {};
    int update = 0;
    std::vector<std::string> blocks = {};  ///< block_of all parameters, by name and number
    std::int64_t max_recompute = 0;        ///< of the settings: more changes nothing
};

/// All weights are trained that the logits depend on; where layers have adapters (ModelConfig::lora) only these, and
/// the others are weights of `types`, laid out as a session has them. Throws unsupported where the model has no logits
/// to learn from.
TrainingStep build_training_step(const ModelConfig& config, const TrainingSettings& settings,
                                 Graph::WeightTypes types = {});
/// The cross-entropy of a micro-batch alone, without smoothing, z-loss and load_balance, with the parameters as states;
/// of labels the logits are an output, too; of a model with adapters all are weights.
TrainingStep build_evaluation(const ModelConfig& config, const TrainingSettings& settings,
                              Graph::WeightTypes types = {});

/// The loss of a micro-batch, and its gradients by what multiplies the outputs of attention heads: outputs with the
/// names gradient(model_names::head_mask(…)), of states that the caller writes. All weights stay as in a session.
TrainingStep build_head_gradients(const ModelConfig& config, const TrainingSettings& settings,
                                  Graph::WeightTypes types);

/// What a node of a training step belongs to. Forward: the loss depends on it. Backward: all else of a micro-batch,
/// with what is recomputed. Update: once a step.
enum class StepPhase : std::uint8_t { forward, backward, update };
/// By node of a training step's graph, also after fusion.
std::vector<StepPhase> phases_of(const Graph& graph);

/// TrainingSettings::source_rows for sequences of so many tokens.
std::int64_t source_rows_of(const ModelConfig& config, std::int64_t rows);

/// The block of a parameter: its name up to the first number, such as h.3; empty outside of blocks.
std::string block_of(const std::string& parameter);

/// The state `train` before the first step.
std::vector<float> first_train_words(const TrainingSettings& settings);

/// Rows whose logits exist at the same time. Of a large vocabulary they are the largest tensor by far, so the loss and
/// its gradient are made some rows at a time (Wijmans et al. 2024; Liger, Hsu et al. 2024): as many as have 64 MiB of
/// logits, a multiple of 256, and more than that where there would be more than 128 pieces. `settings.head_rows` says
/// another number.
std::int64_t head_rows_of(const TrainingSettings& settings, std::int64_t rows, std::int64_t classes);

inline constexpr double max_beta = 0.99999, max_loss_scale = 0x1p24;

}  // namespace vantage::internal
