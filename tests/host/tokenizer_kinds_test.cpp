// WordPiece and Unigram models, and the components of BERT and SentencePiece.
#include <catch2/catch_test_macros.hpp>

#include "runtime/text/unicode.h"
#include "tests/host/expect_error.h"
#include "tests/host/small_tokenizer.h"
#include "tests/host/tokenizer_data.h"
#include "tests/host/watchdog.h"

using namespace vantage;
using vantage::test::expect_error, vantage::test::small, vantage::test::streamed, vantage::test::tokenizer_folders,
    vantage::test::tokenizer_in;

namespace {

using Ids = std::vector<std::int32_t>;
using Offsets = std::vector<std::pair<std::size_t, std::size_t>>;
using Words = std::vector<std::string>;

Tokenizer with_model(const std::string& model, const std::string& more = "") {
    return Tokenizer::parse("{\"model\": {" + model + "}" + (more.empty() ? "" : ", " + more) + "}", "small.json");
}

Tokenizer word_piece(const std::vector<std::string>& words, const std::string& more = "", int longest = 100,
                     const std::string& prefix = "##") {
    Json vocabulary = Json::object();
    for (const std::string& word : words) vocabulary[word] = vocabulary.size();
    return with_model(R"("type": "WordPiece", "unk_token": "?", "max_input_chars_per_word": )" +
                          std::to_string(longest) + R"(, "continuing_subword_prefix": )" + Json(prefix).dump() +
                          ", \"vocab\": " + vocabulary.dump(),
                      more);
}

/// The first token is the unknown one.
Tokenizer unigram(const Json& pieces, const std::string& more = "", const std::string& model_more = "\"unk_id\": 0") {
    return with_model(R"("type": "Unigram", "vocab": )" + pieces.dump() + ", " + model_more, more);
}

/// The result of a normalizer: with no known characters, each becomes a token of its own.
Tokenizer::Encoding normalized(const std::string& normalizer, const std::string& text) {
    const std::string one_by_one =
        R"json("pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(?m:.)"}})json";
    return unigram(Json::parse(R"([["?", 0]])"), "\"normalizer\": " + normalizer + ", " + one_by_one)
        .encode(text, false);
}

}  // namespace

// ---- WordPiece ------------------------------------------------------------------------------------------------------

TEST_CASE("WordPiece: longest token first; a word with an unmatched remainder is unknown", "[tokenizer]") {
    const Tokenizer tokenizer = word_piece({"?", "play", "pl", "##ay", "##ing", "##in", "##g", "é", "##é"});
    CHECK(test::tokens_of(tokenizer, "playing") == Words{"play", "##ing"});
    CHECK(test::tokens_of(tokenizer, "playgé") == Words{"play", "##g", "##é"});
    CHECK(tokenizer.encode("éplaying", false).tokens == Words{"?"});
    CHECK(tokenizer.encode("éplaying", false).offsets == Offsets{{0, 8}});
    CHECK(tokenizer.encode("plé", false).offsets == Offsets{{0, 2}, {2, 3}});
    CHECK(test::tokens_of(tokenizer, "##ing") == Words{"##ing"});  // at the start a prefixed token can match itself
    CHECK(test::tokens_of(tokenizer, "playx") == Words{"?"});
    CHECK(test::tokens_of(word_piece({"?", "ab", "b"}, "", 100, ""), "abb") == Words{"ab", "b"});
}

TEST_CASE("WordPiece: words longer than the file allows are unknown", "[tokenizer]") {
    const Tokenizer tokenizer = word_piece({"?", "é", "##é"}, "", 3);
    CHECK(test::tokens_of(tokenizer, "ééé") == Words{"é", "##é", "##é"});
    CHECK(test::tokens_of(tokenizer, "éééé") == Words{"?"});
    expect_error(ErrorKind::bad_file, {"small.json", "model.unk_token", "\"?\""},
                 [] { test::tokens_of(word_piece({"a"}), "b"); });
}

TEST_CASE("WordPiece: decoding with and without cleanup", "[tokenizer]") {
    const Words words = {"?", "I", "do", "not", "'", "m", "##n't", "n't", ",", "he", "##y", ".", "'s"};
    const auto decoded = [&](const char* cleanup, const Ids& ids) {
        const Tokenizer tokenizer = word_piece(
            words, R"("decoder": {"type": "WordPiece", "prefix": "##", "cleanup": )" + std::string(cleanup) + "}");
        CHECK(streamed(tokenizer, ids, false) == tokenizer.decode(ids, false));
        return tokenizer.decode(ids, false);
    };
    CHECK(decoded("true", {9, 10, 8, 1, 7, 12, 11}) == "hey, In't's.");
    CHECK(decoded("false", {9, 10, 8, 1, 7, 12, 11}) == "hey , I n't 's .");
    CHECK(decoded("true", {10, 10}) == "##yy");            // the first token keeps its prefix
    CHECK(decoded("true", {2, 3, 4, 5}) == "do not ' m");  // cleanup looks at one token at a time
    CHECK(decoded("true", {}).empty());
}

TEST_CASE("WordPiece: labels", "[tokenizer]") {
    const Tokenizer bert = tokenizer_in("oracle/tokenizers/bert_wordpiece_uncased");
    CHECK(bert.display(bert.id_of("##s").value()) == "s");
    CHECK(bert.display(bert.id_of("the").value()) == "·the");
    CHECK(bert.display(bert.id_of("[CLS]").value()) == "[CLS]");
}

// ---- Unigram --------------------------------------------------------------------------------------------------------

TEST_CASE("Unigram: the largest sum of scores; on a tie the longer last token", "[tokenizer]") {
    const Json pieces = Json::parse(
        R"([["?", 0], ["a", 0], ["b", 0], ["c", 0], ["d", 0], ["cd", 1], ["ab", 2], ["abc", 5], ["abcd", 10]])");
    CHECK(test::tokens_of(unigram(pieces), "abcdacdxx") == Words{"abcd", "a", "cd", "xx"});
    CHECK(test::tokens_of(unigram(Json::parse(R"([["?", 0], ["a", -1], ["aa", -2]])")), "aaa") == Words{"a", "aa"});
    CHECK(test::tokens_of(unigram(Json::parse(R"([["?", 0], ["ab", -9], ["a", -1]])")), "ab") == Words{"ab"});
}

TEST_CASE("Unigram: neighbouring unknown characters are one token with the text's spelling", "[tokenizer]") {
    const Json pieces = Json::parse(R"([["?", 0], ["a", -1], ["a", -2], ["xyz", -500]])");
    const Tokenizer tokenizer = unigram(pieces);
    const Tokenizer::Encoding encoding = tokenizer.encode("aéüab", false);
    CHECK(encoding.ids == Ids{2, 0, 2, 0});  // of a repeated token the last one counts
    CHECK(encoding.tokens == Words{"a", "éü", "a", "b"});
    CHECK(encoding.offsets == Offsets{{0, 1}, {1, 3}, {3, 4}, {4, 5}});
    CHECK(tokenizer.encode("?é", false).ids == Ids{0});
    CHECK(tokenizer.encode("xyz", false).ids == Ids{3});  // the unknown run is itself a token
    expect_error(ErrorKind::bad_file, {"small.json", "model.unk_id"},
                 [&] { unigram(pieces, "", "\"unk_id\": null").encode("é", false); });
}

TEST_CASE("Unigram: byte fallback for a whole run", "[tokenizer]") {
    const Json pieces = Json::parse(R"([["?", 0], ["a", -1], ["<0xC3>", -2], ["<0xA9>", -2]])");
    const Tokenizer tokenizer = unigram(pieces, "", R"("unk_id": 0, "byte_fallback": true)");
    const Tokenizer::Encoding encoding = tokenizer.encode("ééaèé", false);
    CHECK(encoding.tokens == Words{"<0xC3>", "<0xA9>", "<0xC3>", "<0xA9>", "a", "èé"});
    CHECK(encoding.offsets == Offsets{{0, 2}, {0, 2}, {0, 2}, {0, 2}, {2, 3}, {3, 5}});
}

// ---- models of old and damaged files -----------------------------------------------------------------------------

TEST_CASE("tokenizer: files without a model type", "[tokenizer]") {
    CHECK(test::tokens_of(with_model(R"("unk_id": 0, "vocab": [["?", 0], ["a", -1]])"), "ab") == Words{"a", "b"});
    CHECK(
        test::tokens_of(with_model(R"("unk_token": "?", "continuing_subword_prefix": "#", "max_input_chars_per_word": 9,
                                  "vocab": {"?": 0, "a": 1, "#b": 2})"),
                        "ab") == Words{"a", "#b"});
}

TEST_CASE("tokenizer: bad WordPiece and Unigram models", "[tokenizer][bad]") {
    const auto bad = [](const std::string& model, std::initializer_list<const char*> parts) {
        CAPTURE(model);
        expect_error(ErrorKind::bad_file, parts, [&] { with_model(model); });
    };
    const std::string word_piece_kind = R"("type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "##")";
    bad(R"("type": "WordPiece", "vocab": {})", {"small.json", "\"model.unk_token\" is missing"});
    bad(word_piece_kind + R"(, "vocab": {})", {"\"model.max_input_chars_per_word\" is missing"});
    bad(word_piece_kind + R"(, "max_input_chars_per_word": -1, "vocab": {})", {"is -1", "from 0"});
    bad(word_piece_kind + R"(, "max_input_chars_per_word": 9, "vocab": [])",
        {"\"model.vocab\" is a list of 0", "an object"});
    bad(word_piece_kind + R"(, "max_input_chars_per_word": 9, "vocab": {")" + std::string(2000, 'a') + "\": 0}",
        {"model.vocab.aaa", "at most 512 bytes"});
    bad(R"("type": "Unigram")", {"\"model.vocab\" is missing"});
    bad(R"("type": "Unigram", "vocab": [])", {"\"model.vocab\" is a list of 0", "tokens"});
    bad(R"("type": "Unigram", "vocab": {})", {"\"model.vocab\" is an object", "a list"});
    bad(R"("type": "Unigram", "vocab": [["a", -1], ["b"]])",
        {"\"model.vocab[1]\" is a list of 1", "a token and its score"});
    bad(R"("type": "Unigram", "vocab": [["a", "b"]])", {"\"model.vocab[0]\""});
    bad(R"("type": "Unigram", "vocab": [[")" + std::string(2000, 'a') + "\", 0]]",
        {"\"model.vocab[0]\"", "at most 512 bytes"});
    bad(R"("type": "Unigram", "vocab": [["a", -1]], "unk_id": 1)", {"\"model.unk_id\" is 1", "from 0 to 0"});
}

TEST_CASE("tokenizer: long words and hostile vocabularies take seconds at most", "[tokenizer][bad][slow]") {
    const auto check = [](const Tokenizer& tokenizer, const std::string& text) {
        CAPTURE(text.size(), text.substr(0, 1));
        const double start = test::cpu_seconds();
        const Tokenizer::Encoding encoding = tokenizer.encode(text, false);
        CHECK(is_utf8(tokenizer.decode(encoding.ids, false)));
        CHECK(test::cpu_seconds() - start < 60);
    };
    for (const char* folder : tokenizer_folders) {
        CAPTURE(folder);
        const Tokenizer tokenizer = tokenizer_in(folder);
        for (const char* letter : {"a", "\x80"}) {
            std::string text;
            while (text.size() < test::long_text) text += letter;
            check(tokenizer, text);
        }
    }
    Json runs = Json::parse(R"([["?", 0]])");  // every token matches at every position
    for (std::size_t i = 1; i <= 512; ++i) runs.push_back({std::string(i, 'a'), -1.0 - static_cast<double>(i)});
    check(unigram(runs), std::string(test::long_text / 20, 'a'));
    const std::string long_run = std::string(509, 'a') + "b";  // almost matches at every position
    check(word_piece({"?", "a", "##a", long_run, "##" + long_run}, "", 50'000), std::string(test::long_text / 20, 'a'));
}

// ---- normalizers ----------------------------------------------------------------------------------------------------

TEST_CASE("tokenizer: BERT's and NMT's normalizers, with offsets", "[tokenizer]") {
    const auto check = [](const std::string& normalizer, const std::string& text, const Words& tokens,
                          const Offsets& offsets) {
        CAPTURE(normalizer, text);
        const Tokenizer::Encoding encoding = normalized(normalizer, text);
        CHECK(encoding.tokens == tokens);
        CHECK(encoding.offsets == offsets);
    };
    check(R"({"type": "BertNormalizer"})", "É\u0301\x01\u0085\tÅ", {"e", " ", "a"}, {{0, 1}, {4, 5}, {5, 6}});
    check(R"({"type": "BertNormalizer"})", "a\u4e2d\u3000", {"a", " ", "\u4e2d", " ", " "},
          {{0, 1}, {1, 2}, {1, 2}, {1, 2}, {2, 3}});
    check(R"({"type": "BertNormalizer", "lowercase": false})", "É", {"É"}, {{0, 1}});  // accents as lowercase says
    check(R"({"type": "BertNormalizer", "lowercase": false, "strip_accents": true})", "É", {"E"}, {{0, 1}});
    check(R"({"type": "BertNormalizer", "strip_accents": false})", "É", {"é"}, {{0, 1}});
    check(R"({"type": "BertNormalizer", "clean_text": false, "handle_chinese_chars": false})", "\t\u4e2d",
          {"\t", "\u4e2d"}, {{0, 1}, {1, 2}});
    check(R"({"type": "Nmt"})", "a\x01\u200bb\u00a0", {"a", " ", "b", "\u00a0"}, {{0, 1}, {2, 3}, {3, 4}, {4, 5}});
}

TEST_CASE("tokenizer: damaged character maps", "[tokenizer][bad]") {
    const auto bad = [](const std::string& base64, std::initializer_list<const char*> parts) {
        CAPTURE(base64);
        expect_error(ErrorKind::bad_file, parts,
                     [&] { normalized(R"({"type": "Precompiled", "precompiled_charsmap": ")" + base64 + "\"}", "a"); });
    };
    bad("", {"\"normalizer.precompiled_charsmap\" is \"\"", "a trie"});
    bad("AAA", {"base64"});
    bad("A*==", {"base64"});
    bad("AAAAAA==", {"a trie"});      // zero units
    bad("CAAAAAAAAAA=", {"a trie"});  // one of two units
    bad("BAAAAAAAAAD/", {"UTF-8"});
    bad("BAAAAAAEAAA=", {"\"normalizer.precompiled_charsmap\" points outside itself"});
}

// ---- post-processors ------------------------------------------------------------------------------------------------

TEST_CASE("tokenizer: BERT's and RoBERTa's special tokens, and none", "[tokenizer]") {
    const auto with = [](const char* kind) {
        return small({"a", "b", "[", "]"}, {},
                     R"("post_processor": {"type": ")" + std::string(kind) + R"(", "cls": ["[", 2], "sep": ["]", 3]})");
    };
    CHECK(with("BertProcessing").encode("ab", true).ids == Ids{2, 0, 1, 3});
    CHECK(with("BertProcessing").encode("ab", false).ids == Ids{0, 1});
    CHECK(with("BertProcessing").encode_pair("a", "b").ids == Ids{2, 0, 3, 1, 3});
    CHECK(with("BertProcessing").encode_pair("a", "b").type_ids == Ids{0, 0, 0, 1, 1});
    CHECK(with("RobertaProcessing").encode("ab", false).ids == Ids{0, 1});
    CHECK(with("RobertaProcessing").encode_pair("a", "b").ids == Ids{2, 0, 3, 3, 1, 3});
    CHECK(with("RobertaProcessing").encode_pair("a", "b").type_ids == Ids(6, 0));
    CHECK(with("RobertaProcessing").encode_pair("a", "b").tokens == Words{"[", "a", "]", "]", "b", "]"});
}
