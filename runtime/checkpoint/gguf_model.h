// A GGUF file as the model folder that it was made from: what it says becomes the texts of a folder's files, and its
// tensors the weights under the names that a folder has. So everything behind the files is the same for both.
#pragma once

#include <memory>
#include <string>

#include "runtime/io/gguf.h"

namespace vantage::internal {

struct GgufModel {
    std::shared_ptr<const Gguf> file;
    std::string config;            ///< config.json
    std::string tokenizer;         ///< tokenizer.json; empty where the file has none
    std::string tokenizer_config;  ///< tokenizer_config.json: bos_token and others, chat_template
};

/// Whether a path names a GGUF file, by its ending.
bool is_gguf(const std::string& path);
/// Throws unsupported for one: `what` ("training") takes a folder of safetensors.
void refuse_gguf(const std::string& path, const char* what);

/// Reads a file, or what was read of it. Throws bad_file for one that is damaged, unsupported for an architecture, a
/// tokenizer or an option that Vantage does not read from GGUF yet.
GgufModel read_gguf_model(const std::string& path);
GgufModel read_gguf_model(std::shared_ptr<const Gguf> file);

/// Its tensors. Data is in the order that a folder has, quantised blocks in the groups that kernels read
/// (shaders/params/quantized.h). Throws unsupported for types that kernels do not read.
WeightFiles gguf_weights(const Gguf& file);

}  // namespace vantage::internal
