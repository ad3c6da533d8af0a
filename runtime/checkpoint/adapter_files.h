// Adapters in the files of PEFT (https://github.com/huggingface/peft):
//   adapter_config.json        rank, alpha, the layers that are adapted
//   adapter_model.safetensors  base_model.model.NAME.lora_A.weight [rank, in] and .lora_B.weight [out, rank]
#pragma once

#include <string>

#include "runtime/models/config.h"

namespace vantage::internal {

namespace adapter_files {
inline constexpr const char *config = "adapter_config.json", *weights = "adapter_model.safetensors";
inline constexpr const char* tensor_prefix = "base_model.model.";  ///< of the names that transformers has
/// The path of the tensors in a folder.
std::string tensors(const std::string& folder);
}  // namespace adapter_files

/// What adapter_config.json says. Throws bad_file, and unsupported for kinds of adapters that Vantage does not have.
LoraOptions read_adapter_config(const std::string& folder);
/// The model folder that it names; empty: none.
std::string base_of_adapters(const std::string& folder);
/// Writes a file as PEFT does, for a model with adapters. `base`: its folder.
void write_adapter_config(const std::string& path, const ModelConfig& config, const std::string& base);

/// Writes the model of folder `from` with the adapters of folder `adapters` added to its weights to the folder `to`,
/// which must be new or empty: whole or not at all. The weights keep their names, types and files. Returns the number
/// of weights that changed. Throws bad_file and unsupported.
std::int64_t merge_adapters(const std::string& from, const std::string& adapters, const std::string& to);

}  // namespace vantage::internal
