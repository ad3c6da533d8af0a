// Texts that a session reads, as token ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vantage/error.h"
#include "vantage/tokenizer.h"

namespace vantage::internal {

/// Texts of more bytes per token of the context are refused before they are encoded, which takes about 100 bytes of
/// memory per byte. The tokens of usual vocabularies have at most 128 bytes.
inline constexpr std::int64_t max_bytes_per_token = 256;

/// The encoding of a text, or of a pair, that a context of so many tokens is to hold. Throws usage if it is too long to
/// fit. Bytes that are not UTF-8 are read as U+FFFD, with a warning.
Tokenizer::Encoding encode_for(std::int64_t context, const Tokenizer& tokenizer, std::string_view text,
                               bool add_special = true);
/// The same of one of several texts: messages begin with its place, "run: prompt 2 of 3", and have this kind.
Tokenizer::Encoding encode_at(const std::string& place, ErrorKind kind, std::int64_t context,
                              const Tokenizer& tokenizer, std::string_view text);
Tokenizer::Encoding encode_pair_for(std::int64_t context, const Tokenizer& tokenizer, std::string_view first,
                                    std::string_view second);

}  // namespace vantage::internal
