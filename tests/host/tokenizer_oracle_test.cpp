// Tokenizers compared exactly with a reference: texts, pairs, random ids.
#include <catch2/catch_test_macros.hpp>

#include "runtime/checkpoint/gguf_tokenizer.h"
#include "tests/host/tokenizer_data.h"

using namespace vantage;
using vantage::test::in_test_data, vantage::test::streamed, vantage::test::tokenizer_folders,
    vantage::test::tokenizer_in;

namespace {
using Ids = std::vector<std::int32_t>;
using Offsets = std::vector<std::pair<std::size_t, std::size_t>>;
Json expected_in(const std::string& folder) { return read_json(in_test_data(folder + "/tokenizer_expected.json")); }

void check_texts(const Tokenizer& tokenizer, const Json& expected) {
    CHECK(tokenizer.vocab_size() == expected["vocab_size"].get<int>());
    REQUIRE(expected["cases"].size() >= 20);
    for (const Json& test : expected["cases"]) {
        const auto text = test["text"].get<std::string>();
        CAPTURE(text);
        const Tokenizer::Encoding encoding = tokenizer.encode(text, false);
        const auto ids = test["ids"].get<Ids>();
        CHECK(encoding.ids == ids);
        CHECK(encoding.tokens == test["tokens"].get<std::vector<std::string>>());
        CHECK(encoding.offsets == test["offsets"].get<Offsets>());
        CHECK(encoding.type_ids == Ids(ids.size(), 0));
        const auto with_special = test["ids_with_special"].get<Ids>();
        CHECK(tokenizer.encode(text, true).ids == with_special);
        CHECK(tokenizer.decode(ids, false) == test["decoded"].get<std::string>());
        CHECK(tokenizer.decode(with_special, true) == test["decoded_skip_special"].get<std::string>());
        CHECK(streamed(tokenizer, ids, false) == test["decoded"].get<std::string>());
        CHECK(streamed(tokenizer, with_special, true) == test["decoded_skip_special"].get<std::string>());
    }
}
}  // namespace

TEST_CASE("tokenizer: texts of the oracle", "[tokenizer][oracle]") {
    for (const char* folder : tokenizer_folders) {
        CAPTURE(folder);
        check_texts(tokenizer_in(folder), expected_in(folder));
    }
}

TEST_CASE("tokenizer: texts of the oracle, by the tokenizers of GGUF files", "[tokenizer][oracle][gguf]") {
    for (const auto& [file, folder] : {std::pair{"llama-f16", "oracle/models/llama"},
                                       {"words-f32", "oracle/models/gpt2"},
                                       {"bert-f16", "oracle/models/bert"}}) {
        CAPTURE(file);
        const Gguf gguf(in_test_data(std::string("oracle/gguf/") + file + ".gguf"));
        check_texts(Tokenizer::parse(gguf_tokenizer_json(gguf), gguf.name()), expected_in(folder));
    }
}

TEST_CASE("tokenizer: pairs of the oracle", "[tokenizer][oracle]") {
    for (const char* folder : tokenizer_folders) {
        const Tokenizer tokenizer = tokenizer_in(folder);
        const Json expected = expected_in(folder);
        REQUIRE(expected["pairs"].size() >= 3);
        for (const Json& test : expected["pairs"]) {
            CAPTURE(folder, test.dump());
            const Tokenizer::Encoding encoding =
                tokenizer.encode_pair(test["a"].get<std::string>(), test["b"].get<std::string>());
            CHECK(encoding.ids == test["ids"].get<Ids>());
            CHECK(encoding.type_ids == test["type_ids"].get<Ids>());
            CHECK(encoding.tokens.size() == encoding.ids.size());
            CHECK(encoding.offsets.size() == encoding.ids.size());
        }
    }
}

TEST_CASE("tokenizer: decoding of the oracle, broken UTF-8 included", "[tokenizer][oracle]") {
    for (const char* folder : tokenizer_folders) {
        const Tokenizer tokenizer = tokenizer_in(folder);
        const Json expected = expected_in(folder);
        REQUIRE(expected["decode_only"].size() >= 5);
        for (const Json& test : expected["decode_only"]) {
            const auto ids = test["ids"].get<Ids>();
            CAPTURE(folder, ids);
            for (const bool skip : {false, true}) {
                const auto text = test[skip ? "decoded_skip_special" : "decoded"].get<std::string>();
                CHECK(tokenizer.decode(ids, skip) == text);
                CHECK(streamed(tokenizer, ids, skip) == text);
            }
        }
    }
}
