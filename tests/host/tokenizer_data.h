// Tokenizers with expected results in tests/data.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/base/utf8.h"
#include "vantage/tokenizer.h"

namespace vantage::test {

// A text this long takes a quadratic loop many minutes. Under a sanitizer, which looks for other mistakes, it is
// shorter.
#if defined(__SANITIZE_ADDRESS__)
#define VANTAGE_TESTS_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VANTAGE_TESTS_SANITIZED
#endif
#endif
#ifdef VANTAGE_TESTS_SANITIZED
inline constexpr std::size_t long_text = 20'000;
#else
inline constexpr std::size_t long_text = 1'000'000;
#endif

/// Every folder, by its place in tests/data.
inline constexpr const char* tokenizer_folders[] = {
    "oracle/tokenizers/gpt2_bytebpe",
    "oracle/tokenizers/llama_sp_bpe",
    "oracle/tokenizers/bert_wordpiece_uncased",
    "oracle/tokenizers/unigram_metaspace",
    "tokenizers/bert_cased",
    "tokenizers/roberta",
    "tokenizers/t5",
    "tokenizers/unigram_bytes",
    "tokenizers/llama3",
    "tokenizers/clip",
};

inline std::string in_test_data(const std::string& path) { return std::string(VANTAGE_TEST_DATA) + "/data/" + path; }
inline Tokenizer tokenizer_in(const std::string& folder) {
    return Tokenizer::load(in_test_data(folder + "/tokenizer.json"));
}

inline std::vector<std::string> tokens_of(const Tokenizer& tokenizer, const std::string& text) {
    return tokenizer.encode(text, false).tokens;
}

/// Joins what a stream gives, checking that each part is whole characters.
inline std::string streamed(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids, bool skip_special) {
    StreamDecoder stream(tokenizer, skip_special);
    std::string text;
    const auto take = [&](const std::string& part) {
        CHECK(is_utf8(part));
        text += part;
    };
    for (const std::int32_t id : ids) take(stream.push(id));
    take(stream.finish());
    return text;
}

}  // namespace vantage::test
