// A GGUF file as the model folder that it was made from: what it says becomes the texts of a folder's files, and its
// tensors the weights under the names that a folder has. So everything behind the files is the same for both.
#pragma once

#include <string>

#include "runtime/io/gguf.h"

namespace vantage::internal {

/// Whether a path names a GGUF file, by its ending.
bool is_gguf(const std::string& path);
/// Throws unsupported for one: `what` ("training") takes a folder of safetensors.
void refuse_gguf(const std::string& path, const char* what);

/// config.json. Throws bad_file for metadata that make no sense, unsupported for an architecture or an option that
/// Vantage does not read from GGUF yet.
std::string gguf_config_json(const Gguf& file);

/// generation_config.json: the sampling that the file recommends (general.sampling.*); empty: it says nothing of it.
std::string gguf_generation_json(const Gguf& file);

/// The tensors of a file. Data is in the order that a folder has, quantised blocks in the groups that kernels read
/// (shaders/params/quantized.h). Throws unsupported for types that kernels do not read.
WeightFiles gguf_weights(const Gguf& file);

}  // namespace vantage::internal
