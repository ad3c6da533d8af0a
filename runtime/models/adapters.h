// Adapters of linear layers (vantage/lora.h): which layers have one, and the names of their weights.
//
// ModelConfig::lora says that a model has them. ModelBuilder adds them to the layers that it makes, so that every graph
// of the model has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/models/initializers.h"

namespace vantage::internal {

namespace adapter_names {
inline constexpr std::string_view down = ".lora_A.weight";  ///< [rank, in], behind the name of the linear layer
inline constexpr std::string_view up = ".lora_B.weight";    ///< [out, rank]
inline constexpr const char* all_linear = "all-linear";
}  // namespace adapter_names

/// Whether a weight is A or B of an adapter.
bool is_adapter(std::string_view weight);
/// Whether ModelConfig::lora wants an adapter for a linear layer.
bool is_adapted(const ModelConfig& config, const std::string& layer);

/// A linear layer that has an adapter.
struct AdaptedLayer {
    std::string name;   ///< its weight is name.weight
    bool inputs_first;  ///< that is [in, out] (GPT-2), not [out, in]
};
/// Ascending by name.
std::vector<AdaptedLayer> adapted_layers(const ModelConfig& config);
/// The last parts of the names of these layers, each once: "c_attn", or with two `parts` "attn.c_attn".
std::vector<std::string> layer_kinds(const std::vector<AdaptedLayer>& layers, int parts = 1);

inline constexpr std::int64_t max_adapter_rank = 1 << 16;
/// Throws usage for a rank that is not possible, and for a target that no linear layer has.
void require_possible_adapters(const ModelConfig& config);

/// As PEFT draws them: A as torch initialises a linear layer (kaiming_uniform_ with a = √5), B = 0; an empty function
/// for other tensors.
Initializer adapter_initializer(const NamedTensor& tensor);

}  // namespace vantage::internal
