#include "runtime/session/encode_text.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "runtime/base/utf8.h"

namespace vantage::internal {

namespace {

void check_size(std::int64_t context, std::size_t bytes) {
    if (static_cast<double>(bytes) > static_cast<double>(context) * static_cast<double>(max_bytes_per_token))
        throw usage_error(
            "the text has {} bytes, which cannot fit the context of {} tokens (at most {} bytes a token); shorten it",
            bytes, context, max_bytes_per_token);
}

void check_utf8(std::string_view text) {
    const std::string repaired = repair_utf8(text);
    if (repaired == text) return;
    const auto at = std::ranges::mismatch(text, repaired).in1 - text.begin();
    fall_back(format("the text is not UTF-8: byte {} is 0x{:02X}; invalid bytes are read as U+FFFD", at,
                     static_cast<unsigned>(static_cast<unsigned char>(text[static_cast<std::size_t>(at)]))));
}

}  // namespace

Tokenizer::Encoding encode_for(std::int64_t context, const Tokenizer& tokenizer, std::string_view text,
                               bool add_special) {
    check_size(context, text.size());
    check_utf8(text);
    return tokenizer.encode(text, add_special);
}

Tokenizer::Encoding encode_at(const std::string& place, ErrorKind kind, std::int64_t context,
                              const Tokenizer& tokenizer, std::string_view text) {
    try {
        return encode_for(context, tokenizer, text);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::usage) throw;
        throw Error(kind, place + ": " + error.what());
    }
}

Tokenizer::Encoding encode_pair_for(std::int64_t context, const Tokenizer& tokenizer, std::string_view first,
                                    std::string_view second) {
    check_size(context, first.size() + second.size());
    check_utf8(first);
    check_utf8(second);
    return tokenizer.encode_pair(first, second);
}

}  // namespace vantage::internal
