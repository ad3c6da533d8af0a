// What the runtime and the tools need of a Model, and its public header does not show.
#pragma once

#include <memory>

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

}  // namespace vantage::internal
