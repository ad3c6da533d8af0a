// tokenizer.json files that are damaged, of an unknown kind, hostile, or have expensive patterns.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "runtime/base/interrupt.h"
#include "runtime/text/regex.h"
#include "tests/host/expect_error.h"
#include "tests/host/small_tokenizer.h"
#include "tests/host/watchdog.h"

using namespace vantage;
using vantage::test::expect_error, vantage::test::small, vantage::test::cpu_seconds;

namespace {
using Ids = std::vector<std::int32_t>;
using Words = std::vector<std::string>;
}  // namespace

TEST_CASE("tokenizer: errors name the file, what was found and what is supported", "[tokenizer][bad]") {
    struct Bad {
        const char* json;
        std::initializer_list<const char*> parts;
    };
    const Bad cases[] = {
        {"", {"bad.json", "not JSON", "line 1"}},
        {"{\"model\": {", {"bad.json", "not JSON"}},
        {"[]", {"bad.json", "a list", "wanted an object"}},
        {"{}", {"\"model\" is missing"}},
        {R"({"model": {"type": "WordLevel", "vocab": {}}})",
         {"\"model.type\" is \"WordLevel\"", "one of: BPE, WordPiece, Unigram"}},
        {R"({"model": {"vocab": {}}})", {"\"model.type\" is missing"}},
        {R"({"model": {"type": "BPE", "merges": []}})", {"\"model.vocab\" is missing"}},
        {R"({"model": {"type": "BPE", "vocab": {"a": "x"}, "merges": []}})",
         {"\"model.vocab.a\" is \"x\"", "an id from 0"}},
        {R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})", {"\"model.vocab.a\" is -1"}},
        {R"({"model": {"type": "BPE", "vocab": {"a": 99999999999}, "merges": []}})",
         {"\"model.vocab.a\" is 99999999999"}},
        {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}})",
         {"\"model.merges[0]\" is \"a\"", "two tokens"}},
        {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [7]}})", {"\"model.merges[0]\" is 7"}},
        {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})", {"\"a b\"", "of the vocabulary"}},
        {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]}})", {"joint \"aa\""}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": [], "dropout": 0.1}})", {"\"model.dropout\" is 0.1"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "normalizer": {"type": "Rot13"}})",
         {"\"normalizer.type\" is \"Rot13\"", "NFKC", "BertNormalizer"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "normalizer": {"type": "Sequence", "normalizers": [{"type": 7}]}})",
         {"\"normalizer.normalizers[0].type\" is 7"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "normalizer": {"type": "Prepend"}})",
         {"\"normalizer.prepend\" is missing"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "normalizer": {"type": "Replace", "pattern": {"Regex": "("}, "content": ""}})",
         {"\"normalizer.pattern.Regex\"", "not a regular expression"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": ""}})",
         {"\"normalizer.pattern.String\" is \"\""}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "pre_tokenizer": {"type": "UnicodeScripts"}})",
         {"\"pre_tokenizer.type\" is \"UnicodeScripts\"", "ByteLevel"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "Maybe"}})",
         {"\"pre_tokenizer.behavior\" is \"Maybe\"", "Isolated"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "pre_tokenizer": {"type": "Split", "pattern": {"Glob": "a"}, "behavior": "Isolated"}})",
         {"\"pre_tokenizer.pattern\"", "String, Regex"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "pre_tokenizer": {"type": "Metaspace", "replacement": "ab"}})",
         {"\"pre_tokenizer.replacement\" is \"ab\"", "one character"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "post_processor": {"type": "GptProcessing"}})",
         {"\"post_processor.type\" is \"GptProcessing\"", "TemplateProcessing"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "post_processor": {"type": "BertProcessing", "sep": ["a", 1]}})",
         {"\"post_processor.cls\" is missing", "a list"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "post_processor": {"type": "RobertaProcessing", "cls": ["a", -1]}})",
         {"\"post_processor.cls\" is a list of 2", "a token and its id"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "post_processor": {"type": "TemplateProcessing", "pair": [],
             "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}], "special_tokens": {}}})",
         {"\"post_processor.single\"", "it has no \"<s>\""}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "post_processor": {"type": "TemplateProcessing", "pair": [],
             "single": [{"Sequence": {"id": "B", "type_id": 0}}], "special_tokens": {}}})",
         {"\"post_processor.single[0].Sequence.id\" is \"B\""}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "decoder": {"type": "CTC"}})",
         {"\"decoder.type\" is \"CTC\"", "ByteFallback"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "decoder": {"type": "Strip", "content": "a", "start": -1}})",
         {"\"decoder.start\" is -1"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "added_tokens": {}})",
         {"\"added_tokens\" is an object", "a list"}},
        {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "added_tokens": [{"id": -3, "content": "x"}]})",
         {"\"added_tokens[0].id\" is -3"}},
    };
    for (const Bad& bad : cases) {
        CAPTURE(bad.json);
        expect_error(ErrorKind::bad_file, bad.parts, [&] { Tokenizer::parse(bad.json, "bad.json"); });
    }
    expect_error(ErrorKind::bad_file, {"no/such/tokenizer.json"}, [] { Tokenizer::load("no/such/tokenizer.json"); });
    expect_error(ErrorKind::bad_file, {"deep.json", "nested deeper than 100"},
                 [] { Tokenizer::parse("{\"normalizer\": " + std::string(200, '['), "deep.json"); });
}

TEST_CASE("tokenizer: a slow search is interrupted", "[tokenizer]") {
    const text::Regex slow("(?:.?){3}.{3}[^a-z]", "test");  // nowhere over the limits; the whole text takes long
    std::string text;
    text.resize(100'000'000, 'a');
    std::atomic<bool> stop{false};
    double seconds = 0;
    std::thread search([&] {
        const InterruptScope scope(stop);
        expect_error(ErrorKind::interrupted, {}, [&] { slow.find_all(text); });
        seconds = cpu_seconds();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop = true;
    search.join();
    CHECK(seconds < 5);
}

TEST_CASE("tokenizer: files that expand a text without bound, or search endlessly, fail", "[tokenizer][bad]") {
    std::string steps;
    for (int i = 0; i < 40; ++i)
        steps += std::string(i > 0 ? "," : "") + R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
    const Tokenizer growing = small({"a"}, {}, R"("normalizer": {"type": "Sequence", "normalizers": [)" + steps + "]}");
    expect_error(ErrorKind::bad_file, {"normalizer", "expands"}, [&] { growing.encode("aaaa", false); });
    const Tokenizer writing = small({"a"}, {}, R"("decoder": {"type": "Sequence", "decoders": [)" + steps + "]}");
    expect_error(ErrorKind::bad_file, {"small.json", "decoder", "longer"}, [&] { writing.decode(Ids{0}, false); });
    expect_error(ErrorKind::bad_file, {"small.json", "decoder", "longer"}, [&] { writing.display(0); });
    const auto added = [](std::size_t pieces, std::size_t ids) {
        const auto repeated = [](std::size_t count, const std::string& one) {
            std::string list;
            for (std::size_t i = 0; i < count; ++i) list += (i > 0 ? "," : "") + one;
            return "[" + list + "]";
        };
        const std::string piece = R"({"SpecialToken": {"id": "s", "type_id": 0}})";
        return R"("post_processor": {"type": "TemplateProcessing", "pair": [], "single": )" + repeated(pieces, piece) +
               R"(, "special_tokens": {"s": {"ids": )" + repeated(ids, "0") + R"(, "tokens": )" +
               repeated(ids, "\"a\"") + "}}}";
    };
    CHECK(small({"a"}, {}, added(64, 1)).encode("a", true).ids.size() == 64);
    expect_error(ErrorKind::bad_file, {"post_processor.single", "at most 64 elements"},
                 [&] { small({"a"}, {}, added(2000, 1)); });
    expect_error(ErrorKind::bad_file, {"post_processor.single", "adds at most 64 tokens"},
                 [&] { small({"a"}, {}, added(2, 20000)); });
    const auto list = [](const char* part, const char* key, std::size_t count, const std::string& one) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i) all += (i > 0 ? "," : "") + one;
        return std::string("\"") + part + R"(": {"type": "Sequence", ")" + key + "\": [" + all + "]}";
    };
    const std::string letters = R"({"type": "ByteLevel", "use_regex": false})", fuse = R"({"type": "Fuse"})";
    // Pieces of one character, each of which may grow.
    const Tokenizer prefixing = small({"a", "b"}, {},
                                      R"("added_tokens": [{"id": 1, "content": "b", "special": true}],
                                         "normalizer": {"type": "Prepend", "prepend": ")" +
                                          std::string(255, 'x') + "\"}");
    std::string pieces, accents;
    for (int i = 0; i < 1000; ++i) pieces += "ab", accents += "é";
    expect_error(ErrorKind::bad_file, {"normalizer", "expands"}, [&] { prefixing.encode(pieces, false); });
    const Tokenizer single =
        small({"a"}, {},
              R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated",
           "pattern": {"Regex": "."}}, )" +
                  letters + "," + letters + "," + letters + "," + letters + "," + letters + "," + letters + "]}");
    expect_error(ErrorKind::bad_file, {"pre-tokenizer", "expands"}, [&] { single.encode(accents, false); });
    const Tokenizer lettering = small({"a"}, {}, list("pre_tokenizer", "pretokenizers", 40, letters));
    expect_error(ErrorKind::bad_file, {"pre-tokenizer", "expands"}, [&] { lettering.encode("héllo", false); });
    for (const std::string& many :
         {list("decoder", "decoders", 64, fuse), list("pre_tokenizer", "pretokenizers", 64, letters),
          list("normalizer", "normalizers", 64, R"({"type": "NFC"})"),
          list("post_processor", "processors", 64, R"({"type": "ByteLevel"})")})
        expect_error(ErrorKind::bad_file, {"at most 64 steps"}, [&] { small({"a"}, {}, many); });
    expect_error(ErrorKind::bad_file, {"post_processor.single", "at most 4 texts"}, [&] {
        const std::string text = R"({"Sequence": {"id": "A", "type_id": 0}})";
        small({"a"}, {},
              R"("post_processor": {"type": "TemplateProcessing", "pair": [], "special_tokens": {}, "single": [)" +
                  text + "," + text + "," + text + "," + text + "," + text + "]}");
    });
    // Each of these takes the white space behind it, which has all of them.
    const Tokenizer stripping = small({"a"}, {}, R"("added_tokens": [{"id": 1, "content": "\n", "rstrip": true}])");
    CHECK(stripping.encode(std::string(1'000'000, '\n'), false).ids == Ids{1});
    const Tokenizer searching = small(
        {"a"}, {}, R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(a+)+b"}})");
    expect_error(ErrorKind::bad_file, {"pre_tokenizer.pattern.Regex", "exceeds its limits"},
                 [&] { searching.encode(std::string(64, 'a') + "cb", false); });
    const Tokenizer trying = small(  // not endless at one position, but slow at each
        {"a"}, {},
        R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(?:.?){18}.{18}[^a-z]"}})");
    expect_error(ErrorKind::bad_file, {"pre_tokenizer.pattern.Regex", "exceeds its limits"},
                 [&] { trying.encode(std::string(1000, 'a'), false); });
    const Tokenizer nesting = small(  // each step passes over the whole pattern, which is long when compiled
        {"a"}, {},
        R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(?:a?){0,1000}[xy]"}})");
    const double before = cpu_seconds();
    expect_error(ErrorKind::bad_file, {"pre_tokenizer.pattern.Regex", "exceeds its limits"},
                 [&] { nesting.encode(std::string(5000, 'a'), false); });
    CHECK(cpu_seconds() - before < 10);
    expect_error(ErrorKind::bad_file, {"pre_tokenizer.pattern.Regex"}, [] {  // a match that ends before it begins
        small({"a"}, {},
              R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(?=a\\Ka)b*"}})");
    });
}

TEST_CASE("tokenizer: a few positions of a text may need many steps", "[tokenizer]") {
    const text::Regex regex(R"(\s*[\r\n]+|\s+)", "test");
    const std::string spaces(100000, ' ');
    std::string text;
    for (int i = 0; i < 4; ++i) text += spaces + "a" + spaces + "\n";
    const std::vector<text::Match> matches = regex.find_all(text);
    REQUIRE(matches.size() == 8);
    for (std::size_t i = 0; i < matches.size(); ++i)
        CHECK(matches[i].end - matches[i].begin == spaces.size() + (i % 2 == 0 ? 0 : 1));
}

TEST_CASE("tokenizer: patterns in Ruby's syntax", "[tokenizer]") {
    const auto found = [](const char* pattern, const std::string& text) {
        Words words;
        for (const text::Match& match : text::Regex(pattern, "test").find_all(text))
            words.push_back(text.substr(match.begin, match.end - match.begin));
        return words;
    };
    CHECK(found(R"(\s+)", "a \u00a0\u0085b\u180ec") == Words{" \u00a0\u0085"});  // U+180E is no longer white space
    CHECK(found(R"([^\s]+)", "a b\u180ec") == Words{"a", "b\u180ec"});
    CHECK(found(R"([\S]+)", "a b\u180ec") == Words{"a", "b\u180ec"});
    CHECK(found(R"(\S+)", "a b\u180ec") == Words{"a", "b\u180ec"});
    CHECK(found(R"(\w+)", "né\u0301 x_1‿½ ⅓") == Words{"né\u0301", "x_1‿½"});
    CHECK(found(R"([\w]+)", "x_1‿½") == Words{"x_1‿"});
    CHECK(found(R"(\W+)", "a-½⅓b") == Words{"-", "⅓"});
    CHECK(found(R"(\h+)", "xAf0g") == Words{"Af0"});
    CHECK(found(R"((?m:a.b))", "a\nb") == Words{"a\nb"});
    CHECK(found(R"(^b$)", "a\nb\nc") == Words{"b"});
    CHECK(found(R"(\u00e9)", "é") == Words{"é"});
    CHECK(found(R"([]\]a]+)", "]a") == Words{"]a"});
    CHECK(found(R"([[:alpha:]]+)", "ab1") == Words{"ab"});
    CHECK(found("x*", "axxb") == Words{"", "xx", ""});
    CHECK(found("", "").empty());
    expect_error(ErrorKind::bad_file, {"test", "sets inside []"}, [&] { found("[a&&b]", ""); });
    expect_error(ErrorKind::bad_file, {"test", "sets inside []"}, [&] { found("[a[b]]", ""); });
    expect_error(ErrorKind::bad_file, {"test", "four hexadecimal digits"}, [&] { found(R"(\u12)", ""); });
    expect_error(ErrorKind::bad_file, {"test", "not a regular expression"}, [&] { found(R"(\C)", ""); });
}
