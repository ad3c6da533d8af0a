// The tokenizer of a GGUF file as tokenizer.json and tokenizer_config.json.
#pragma once

#include <string>

#include "runtime/io/gguf.h"

namespace vantage::internal {

/// Empty where the file has no tokenizer. Throws bad_file, and unsupported for a kind of tokenizer, or a division into
/// words ("tokenizer.ggml.pre"), that is not known: a guess would give other tokens.
std::string gguf_tokenizer_json(const Gguf& file);
/// bos_token and others, and chat_template.
std::string gguf_tokenizer_config(const Gguf& file);

}  // namespace vantage::internal
