// What the runtime and the tools need of a Model, and its public header does not show.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/models/config.h"
#include "runtime/models/model_builder.h"
#include "vantage/model.h"

namespace vantage::internal {

struct Bindings;

/// "my-llama (llama)": a model's name and architecture, for messages.
inline std::string described(const ModelInfo& info) { return info.name + " (" + info.architecture + ")"; }
/// Throws usage where the model has no attention, which `what` needs.
void require_attention(const ModelInfo& info, const std::string& what);
/// The layers that attend this way, for messages: "layers 0 … 3", or of a hybrid model "attention in layers 1, 4".
std::string attending_text(const ModelInfo& info, AttentionKind kind);
/// What config.json says.
const ModelConfig& config_of(const Model& model);
/// The model's graph, whose weights are in weights_of(model).
Graph graph_of(const Model& model, const BuildOptions& options);
const std::shared_ptr<Bindings>& weights_of(const Model& model);
/// The types of its weights there.
Graph::WeightTypes weight_types_of(const Model& model);
/// A model of a folder, whose layers have adapters as `lora` says (require_possible_adapters). Their weights are not
/// written. Throws as Model::load.
Model model_with_adapters(const Device& device, const std::string& directory, const LoadOptions& options,
                          const LoraOptions& lora);
/// A model whose weights are in no file: `values` gives them in f32, row-major, as the graph declares them.
using WeightValues = std::function<std::vector<float>(const Value&)>;
Model model_of(const Device& device, const ModelConfig& config, const std::optional<Tokenizer>& tokenizer,
               const std::string& name, const WeightValues& values);
/// Gives the weights of such a model other values. No session may run meanwhile, and what sessions have of earlier
/// tokens stays as it was.
void set_weights(const Model& model, const WeightValues& values);

}  // namespace vantage::internal
