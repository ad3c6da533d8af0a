// Tokenizers: their components, streaming, long words.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <utility>

#include "runtime/text/unicode.h"
#include "tests/host/expect_error.h"
#include "tests/host/small_tokenizer.h"
#include "tests/host/tokenizer_data.h"
#include "tests/host/watchdog.h"
#include "vantage/tokenizer.h"

using namespace vantage;
using vantage::test::expect_error, vantage::test::small, vantage::test::streamed, vantage::test::tokenizer_folders,
    vantage::test::tokenizer_in;

namespace {

Tokenizer oracle_tokenizer(const std::string& name) { return tokenizer_in("oracle/tokenizers/" + name); }

using Ids = std::vector<std::int32_t>;
using Offsets = std::vector<std::pair<std::size_t, std::size_t>>;

std::vector<std::string> letters(const std::string& all) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < all.size();) {
        const unsigned bytes = character_at(all, at).bytes;
        words.push_back(all.substr(at, bytes));
        at += bytes;
    }
    return words;
}
using Words = std::vector<std::string>;

}  // namespace

// ---- parts ----------------------------------------------------------------------------------------------------------

namespace {

const char* const llama3_pre_tokenizer = R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex":
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]})";

/// Splits with a pre-tokenizer: no merges, but every character known, so words show as runs; made visible by
/// `ignore_merges`.
Words words_of(const std::string& pre_tokenizer, const std::vector<std::string>& known, const std::string& text) {
    return test::tokens_of(small(known, {}, "\"pre_tokenizer\": " + pre_tokenizer, R"("ignore_merges": true)"), text);
}

}  // namespace

TEST_CASE("tokenizer: Llama 3: Split with its pattern, ignore_merges, ByteLevel and a template", "[tokenizer]") {
    const Words words = {"hello", "'S", "Ġ", "Ġworld", "123", "4", "!!Ċ", "ĠĊĊ", "<b>"};
    const Tokenizer tokenizer = small(words, {}, std::string(llama3_pre_tokenizer) + R"(,
        "added_tokens": [{"id": 8, "content": "<b>", "special": true}], "decoder": {"type": "ByteLevel"},
        "post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel", "trim_offsets": false}, {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<b>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<b>", "type_id": 1}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<b>": {"id": "<b>", "ids": [8], "tokens": ["<b>"]}}}]})",
                                      R"("ignore_merges": true)");
    const std::string text = "hello'S  world 1234!!\n \n\n";
    const Tokenizer::Encoding encoding = tokenizer.encode(text, true);
    CHECK(encoding.tokens == Words{"<b>", "hello", "'S", "Ġ", "Ġworld", "Ġ", "123", "4", "!!Ċ", "ĠĊĊ"});
    CHECK(encoding.offsets ==
          Offsets{{0, 0}, {0, 5}, {5, 7}, {7, 8}, {8, 14}, {14, 15}, {15, 18}, {18, 19}, {19, 22}, {22, 25}});
    CHECK(tokenizer.decode(encoding.ids, true) == text);
    CHECK(tokenizer.decode(encoding.ids, false) == "<b>" + text);
    CHECK(tokenizer.encode_pair("hello", "4").ids == Ids{0, 8, 5});
    CHECK(tokenizer.encode_pair("hello", "4").type_ids == Ids{0, 1, 1});
}

TEST_CASE("tokenizer: merges as strings and as pairs", "[tokenizer]") {
    const std::string as_texts = R"(["a b", "ab c"])", as_pairs = R"([["a", "b"], ["ab", "c"]])";
    for (const std::string& merges : {as_texts, as_pairs}) {
        const Tokenizer tokenizer = Tokenizer::parse(
            R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}, "merges": )" + merges +
                "}}",
            "m.json");
        CHECK(tokenizer.encode("abcab", false).ids == Ids{4, 3});
    }
    const Tokenizer spaced = Tokenizer::parse(
        R"({"model": {"type": "BPE", "vocab": {"a": 0, " ": 1, " a": 2}, "merges": [[" ", "a"]]}})", "m.json");
    CHECK(spaced.encode("a a", false).ids == Ids{0, 2});
}

TEST_CASE("tokenizer: the merge of lowest rank is applied first, at equal rank the leftmost", "[tokenizer]") {
    const Tokenizer tokenizer = small({"a", "b", "c", "bc", "ab", "aa"}, {"b c", "a b", "a a"});
    CHECK(test::tokens_of(tokenizer, "abc") == Words{"a", "bc"});
    CHECK(test::tokens_of(tokenizer, "aaa") == Words{"aa", "a"});
    CHECK(test::tokens_of(tokenizer, "aabab") == Words{"a", "ab", "ab"});
}

TEST_CASE("tokenizer: unknown characters, fused and not; byte tokens if all exist", "[tokenizer]") {
    const std::string unknown = R"("unk_token": "?")";
    CHECK(test::tokens_of(small({"?", "a"}, {}), "axya") == Words{"a", "a"});  // dropped without an unknown token
    CHECK(test::tokens_of(small({"?", "a"}, {}, "", unknown), "axya") == Words{"a", "?", "?", "a"});
    const Tokenizer fused = small({"?", "a"}, {}, "", unknown + R"(, "fuse_unk": true)");
    CHECK(fused.encode("axéa", false).tokens == Words{"a", "?", "a"});
    CHECK(fused.encode("axéa", false).offsets == Offsets{{0, 1}, {1, 3}, {3, 4}});
    const Tokenizer bytes = small({"?", "a", "<0xC3>", "<0xA9>"}, {}, R"("decoder": {"type": "ByteFallback"})",
                                  unknown + R"(, "byte_fallback": true)");
    CHECK(bytes.encode("éaè", false).tokens == Words{"<0xC3>", "<0xA9>", "a", "?"});
    CHECK(bytes.encode("éaè", false).offsets == Offsets{{0, 1}, {0, 1}, {1, 2}, {2, 3}});
    expect_error(ErrorKind::bad_file, {"small.json", "model.unk_token", "nowhere"},
                 [] { test::tokens_of(small({"a"}, {}, "", R"("unk_token": "nowhere")"), "b"); });
}

TEST_CASE("tokenizer: prefixes inside words and suffixes at their end", "[tokenizer]") {
    const Tokenizer tokenizer = small({"a", "##b", "##c</w>", "a##b", "ab"}, {"a ##b"}, "",
                                      R"("continuing_subword_prefix": "##", "end_of_word_suffix": "</w>")");
    CHECK(test::tokens_of(tokenizer, "abc") == Words{"ab", "##c</w>"});
}

TEST_CASE("tokenizer: behaviours of Split", "[tokenizer]") {
    const Words known = {"the", "-", "final", "--", "countdown", "the-", "final-", "-final", "-countdown"};
    const auto split = [&](const std::string& behavior, const std::string& more = "") {
        return words_of(R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behavior + "\"" + more + "}",
                        known, "the-final--countdown");
    };
    CHECK(split("Removed") == Words{"the", "final", "countdown"});
    CHECK(split("Isolated") == Words{"the", "-", "final", "-", "-", "countdown"});
    CHECK(split("MergedWithPrevious") == Words{"the-", "final-", "-", "countdown"});
    CHECK(split("MergedWithNext") == Words{"the", "-final", "-", "-countdown"});
    CHECK(split("Contiguous") == Words{"the", "-", "final", "--", "countdown"});
    CHECK(split("Removed", R"(, "invert": true)") == Words{"-", "-", "-"});
}

TEST_CASE("tokenizer: the simple pre-tokenizers", "[tokenizer]") {
    const Words known = {"ab", "12", "1", "2", "½", ",", ".", "x", "é!", ",.", "▁ab", "▁", "▁x"};
    CHECK(words_of(R"({"type": "Digits", "individual_digits": false})", known, "ab12x½") ==
          Words{"ab", "12", "x", "½"});
    CHECK(words_of(R"({"type": "Digits", "individual_digits": true})", known, "ab12") == Words{"ab", "1", "2"});
    CHECK(words_of(R"({"type": "Punctuation"})", known, "ab,.x") == Words{"ab", ",", ".", "x"});
    CHECK(words_of(R"({"type": "Punctuation", "behavior": "Contiguous"})", known, "ab,.x") == Words{"ab", ",.", "x"});
    CHECK(words_of(R"({"type": "WhitespaceSplit"})", known, " ab\u2003é!\n") == Words{"ab", "é!"});
    CHECK(words_of(R"({"type": "Whitespace"})", known, " ab ,. x\n") == Words{"ab", ",.", "x"});
    CHECK(words_of(R"({"type": "Whitespace"})", {"a\u200db", "\u200c", "½,"}, "a\u200db½,\u200c") ==
          Words{"a\u200db", "½,", "\u200c"});  // joiners are word characters, ½ is not
    const std::string metaspace = R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": )";
    CHECK(words_of(metaspace + R"("always"})", known, "ab  x") == Words{"▁ab", "▁", "▁x"});
    CHECK(words_of(metaspace + R"("never"})", known, "ab x") == Words{"ab", "▁x"});
    CHECK(words_of(R"({"type": "Metaspace", "replacement": "▁", "add_prefix_space": false})", known, "ab x") ==
          Words{"ab", "▁x"});
}

TEST_CASE("tokenizer: Metaspace \"first\": a symbol before the text, but not after a special token", "[tokenizer]") {
    const Tokenizer tokenizer =
        small({"▁ab", "ab", "<s>"}, {}, R"("added_tokens": [{"id": 2, "content": "<s>", "special": true}],
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"},
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"})",
              R"("ignore_merges": true)");
    CHECK(test::tokens_of(tokenizer, "ab<s>ab ab") == Words{"▁ab", "<s>", "ab", "▁ab"});
    CHECK(tokenizer.decode(Ids{0, 1, 0}, false) == "abab ab");
}

TEST_CASE("tokenizer: ByteLevel with a leading space, and offsets without spaces", "[tokenizer]") {
    const Words words = {"Ġa", "Ġb", "ĠĠ", "Ġ", "Ċ"};
    const std::string pre = R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})";
    const std::string post =
        R"(, "post_processor": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})";
    const std::string model = R"("ignore_merges": true)";
    CHECK(small(words, {}, pre, model).encode("a b", false).offsets == Offsets{{0, 1}, {1, 3}});
    CHECK(small(words, {}, pre + post, model).encode("a b", false).offsets == Offsets{{0, 1}, {2, 3}});
    CHECK(small(words, {}, pre + post, model).encode("a\n", false).tokens == Words{"Ġa", "Ċ"});
}

TEST_CASE("tokenizer: normalizers keep the origin of characters", "[tokenizer]") {
    const auto check = [](const std::string& normalizer, const std::string& text, const std::string& normal,
                          const Offsets& offsets) {
        CAPTURE(normalizer, text);
        const Tokenizer tokenizer =
            small(letters("abcdefghijklmnopqrstuvwxyzéß\u0301 ._İ"), {}, "\"normalizer\": " + normalizer);
        const Tokenizer::Encoding encoding = tokenizer.encode(text, false);
        std::string joined;
        for (const std::string& token : encoding.tokens) joined += token;
        CHECK(joined == normal);
        CHECK(encoding.offsets == offsets);
    };
    check(R"({"type": "NFC"})", "ae\u0301b", "aéb", {{0, 1}, {1, 2}, {3, 4}});
    check(R"({"type": "NFD"})", "aéb", "ae\u0301b", {{0, 1}, {1, 2}, {1, 2}, {2, 3}});
    check(R"({"type": "NFKC"})", "ﬁx", "fix", {{0, 1}, {0, 1}, {1, 2}});
    check(R"({"type": "NFKD"})", "é…", "e\u0301...", {{0, 1}, {0, 1}, {1, 2}, {1, 2}, {1, 2}});
    check(R"({"type": "Lowercase"})", "ABÉ\u0130", "abéi",
          {{0, 1}, {1, 2}, {2, 3}, {3, 4}});  // i and U+0307, unknown here
    check(R"({"type": "Strip"})", " \tab\u3000", "ab", {{2, 3}, {3, 4}});
    check(R"({"type": "Strip", "strip_left": false})", " a\n", " a", {{0, 1}, {1, 2}});
    check(R"({"type": "Strip", "strip_right": false})", "\ta ", "a ", {{1, 2}, {2, 3}});
    check(R"({"type": "Strip"})", " \n ", "", {});
    check(R"({"type": "Prepend", "prepend": "x_"})", "a", "x_a", {{0, 1}, {0, 1}, {0, 1}});
    check(R"({"type": "Prepend", "prepend": "x_"})", "", "", {});
    check(R"({"type": "Replace", "pattern": {"String": "bc"}, "content": "xyz"})", "abcd", "axyzd",
          {{0, 1}, {2, 3}, {2, 3}, {2, 3}, {3, 4}});
    check(R"({"type": "Replace", "pattern": {"Regex": "[bc]+"}, "content": ""})", "abcd", "ad", {{0, 1}, {3, 4}});
    check(R"({"type": "Replace", "pattern": {"Regex": "^"}, "content": "_"})", "a", "_a", {{0, 0}, {0, 1}});
    check(R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]})",
          "AÉ", "ae", {{0, 1}, {1, 2}});
}

TEST_CASE("tokenizer: added tokens with all their options", "[tokenizer]") {
    const auto with = [](const std::string& token, const std::string& more = "") {
        return small(letters("abcdefghijklmnopqrstuvwxyz _"), {},
                     R"("added_tokens": [{"id": 90, "content": "<m>", )" + token + "}]" + more);
    };
    const auto mask = [](const Tokenizer& tokenizer, const std::string& text) {  // the texts of all mask tokens
        Words found;
        const Tokenizer::Encoding encoding = tokenizer.encode(text, false);
        for (std::size_t i = 0; i < encoding.ids.size(); ++i)
            if (encoding.ids[i] == 90)
                found.push_back(encoding.tokens[i] + "@" + std::to_string(encoding.offsets[i].first));
        return found;
    };
    CHECK(mask(with(R"("special": true)"), "a <m> b<m>") == Words{"<m>@2", "<m>@7"});
    CHECK(mask(with(R"("lstrip": true)"), "a \t<m> <m>") == Words{" \t<m>@1", " <m>@6"});
    CHECK(mask(with(R"("rstrip": true)"), "<m>\u2003 <m>") == Words{"<m>\u2003 @0", "<m>@5"});
    CHECK(mask(with(R"("lstrip": true, "rstrip": true)"), "a <m> <m> b") == Words{" <m> @1", "<m> @6"});
    CHECK(mask(with(R"("single_word": true)"), "<m> a<m> <m>é, <m>") == Words{"<m>@0", "<m>@15"});
    CHECK(mask(with(R"("normalized": true)", R"(, "normalizer": {"type": "Lowercase"})"), "a<M>b") == Words{"<m>@1"});
    CHECK(mask(with(R"("normalized": false)", R"(, "normalizer": {"type": "Lowercase"})"), "a<M>b").empty());
    const Tokenizer two =
        small({"a"}, {}, R"("added_tokens": [{"id": 1, "content": "<a"}, {"id": 2, "content": "<ab>"}])");
    CHECK(two.encode("<ab><a", false).ids == Ids{2, 1});  // the longest
    CHECK(two.vocab_size() == 3);
    const Tokenizer known =
        small({"a", "<s>"}, {}, R"("added_tokens": [{"id": 7, "content": "<s>", "special": true}])");
    CHECK(known.encode("<s>", false).ids == Ids{1});  // the model's id is used
}

TEST_CASE("tokenizer: decoders", "[tokenizer]") {
    const Words words = {"▁ab", "c▁", "HHa", "aHH", "<0xE2>", "<0x82>", "<0xAC>", "Ġx", "é", "H"};
    const auto decoded = [&](const std::string& decoder, const Ids& ids) {
        CAPTURE(decoder);
        const Tokenizer tokenizer = small(words, {}, decoder.empty() ? "" : "\"decoder\": " + decoder);
        std::string text = tokenizer.decode(ids, false);
        CHECK(streamed(tokenizer, ids, false) == text);
        return text;
    };
    CHECK(decoded("", {0, 1, 7}) == "▁ab c▁ Ġx");
    CHECK(decoded("", {}).empty());
    CHECK(decoded(R"({"type": "Fuse"})", {2, 3}) == "HHaaHH");
    CHECK(decoded(R"({"type": "ByteFallback"})", {4, 5, 6, 8}) == "€é");
    CHECK(decoded(R"({"type": "ByteFallback"})", {4, 5, 8, 6}) == "\uFFFD\uFFFDé\uFFFD");
    CHECK(decoded(R"({"type": "ByteFallback"})", {4, 5, 6, 4}) == "\uFFFD\uFFFD\uFFFD\uFFFD");
    CHECK(decoded(R"({"type": "ByteLevel"})", {7, 7}) == " x x");
    CHECK(decoded(R"({"type": "ByteLevel"})", {8, 7}) == "\uFFFD x");  // é is the letter of byte 0xE9
    CHECK(decoded(R"({"type": "ByteLevel"})", {0}) == "▁ab");          // ▁ is not a byte letter: the token is kept
    CHECK(decoded(R"({"type": "Strip", "content": "H", "start": 1, "stop": 0})", {2, 3, 9}) == "HaaHH");
    CHECK(decoded(R"({"type": "Strip", "content": "H", "start": 5, "stop": 1})", {2, 3, 9}) == "aaH");
    const std::string fused =
        R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": "H", "start": )";
    CHECK(decoded(fused + R"(3, "stop": 0}]})", {9, 2, 3}) == "aaHH");
    CHECK(decoded(fused + R"(2, "stop": 2}]})", {9, 2, 3, 9}) == "HaaH");
    CHECK(decoded(fused + R"(0, "stop": 9}]})", {3, 9, 3, 9}) == "aHHHa");
    CHECK(decoded(fused + R"(1, "stop": 1}]})", {9, 9}).empty());
    CHECK(decoded(R"({"type": "Replace", "pattern": {"String": "▁"}, "content": " "})", {0, 1}) == " abc ");
    CHECK(decoded(R"({"type": "Replace", "pattern": {"Regex": "H+"}, "content": "h"})", {2, 3}) == "haah");
    CHECK(
        decoded(
            R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "aa"}, "content": "-"}]})",
            {2, 3}) == "HH-HH");
    CHECK(decoded(R"({"type": "Metaspace", "replacement": "▁"})", {0, 0, 1}) == "ab abc ");
    CHECK(decoded(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"})", {0}) == " ab");
}

TEST_CASE("tokenizer: invalid UTF-8 becomes U+FFFD", "[tokenizer]") {
    const Tokenizer tokenizer = oracle_tokenizer("gpt2_bytebpe");
    CHECK(tokenizer.encode("a\xFFz", false).ids == tokenizer.encode("a\uFFFDz", false).ids);
    CHECK(tokenizer.encode("a\xFFz", false).offsets.back() == std::pair<std::size_t, std::size_t>{2, 3});
}

TEST_CASE("tokenizer: labels show the bytes of a token", "[tokenizer]") {
    const Tokenizer gpt2 = oracle_tokenizer("gpt2_bytebpe"), llama = oracle_tokenizer("llama_sp_bpe");
    const auto shown = [](const Tokenizer& tokenizer, const char* token) {
        return tokenizer.display(tokenizer.id_of(token).value());
    };
    CHECK(shown(gpt2, "Ġthe") == "·the");
    CHECK(shown(gpt2, "Ċ") == "\\n");
    CHECK(shown(gpt2, "Ā") == "\\x00");
    CHECK(shown(gpt2, "Ã") == "\\xC3");
    CHECK(shown(gpt2, "<|endoftext|>") == "<|endoftext|>");
    CHECK(gpt2.display(123456) == "#123456");
    CHECK(gpt2.display(-1) == "#-1");
    CHECK(shown(llama, "▁the") == "·the");
    CHECK(shown(llama, "<0x0A>") == "\\n");
    CHECK(shown(llama, "<0xE2>") == "\\xE2");
    CHECK(shown(llama, "</s>") == "</s>");
    CHECK(llama.token_bytes(llama.id_of("▁").value()) == " ");
    const Tokenizer marks = small({"\u0301", "a\u0301", "\u202E", "\u200B", "é"}, {});
    CHECK(marks.display(0) == "◌\u0301");
    CHECK(marks.display(1) == "a\u0301");
    CHECK(marks.display(2) == "\\u{202E}");
    CHECK(marks.display(3) == "\\u{200B}");
    CHECK(marks.display(4) == "é");
}

TEST_CASE("tokenizer: ids and spellings", "[tokenizer]") {
    const Tokenizer tokenizer = oracle_tokenizer("llama_sp_bpe");
    CHECK(tokenizer.is_special(1));
    CHECK_FALSE(tokenizer.is_special(300));
    CHECK_FALSE(tokenizer.is_special(99999));
    CHECK(tokenizer.token_text(2) == "</s>");
    CHECK(tokenizer.token_text(-5).empty());
    CHECK_FALSE(tokenizer.has(1000));
    CHECK_FALSE(tokenizer.id_of("no such token").has_value());
    CHECK(tokenizer.decode(Ids{99999, -1}, false).empty());  // models may have more outputs than tokens
}

// ---- streams --------------------------------------------------------------------------------------------------------

TEST_CASE("a tokenizer that was moved from stays one, a stream decoder says so", "[tokenizer]") {
    Tokenizer from = Tokenizer::parse(R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": 0}}})", "t");
    const Tokenizer to = std::move(from);  // NOLINT(performance-move-const-arg)
    // NOLINTNEXTLINE(bugprone-use-after-move)
    CHECK(from.encode("aa").ids == to.encode("aa").ids);
    StreamDecoder decoder(to);
    StreamDecoder other = std::move(decoder);
    CHECK(other.push(0) + other.finish() == "a");
    // NOLINTNEXTLINE(bugprone-use-after-move)
    expect_error(ErrorKind::usage, {"moved from"}, [&] { static_cast<void>(decoder.push(0)); });
    expect_error(ErrorKind::usage, {"moved from"}, [&] { static_cast<void>(decoder.finish()); });
}

TEST_CASE("stream decoder: whole characters, as early as possible", "[tokenizer]") {
    const Tokenizer gpt2 = oracle_tokenizer("gpt2_bytebpe");
    const Ids euro = gpt2.encode("€", false).ids;
    REQUIRE(euro.size() == 3);
    StreamDecoder stream(gpt2);
    CHECK(stream.push(euro[0]).empty());
    CHECK(stream.push(euro[1]).empty());
    CHECK(stream.push(euro[2]) == "€");
    CHECK(stream.push(euro[0]).empty());
    CHECK(stream.push(gpt2.id_of("a").value()) == "\uFFFDa");
    CHECK(stream.push(0).empty());  // special
    CHECK(stream.push(euro[0]).empty());
    CHECK(stream.finish() == "\uFFFD");
    CHECK(stream.push(gpt2.id_of("a").value()) == "a");  // a new text
}

TEST_CASE("stream decoder: the first space of a text is dropped, later ones are kept", "[tokenizer]") {
    const Tokenizer llama = oracle_tokenizer("llama_sp_bpe");
    StreamDecoder stream(llama);
    const int the = llama.id_of("▁the").value();
    CHECK(stream.push(1).empty());
    CHECK(stream.push(the) == "the");
    CHECK(stream.push(the) == " the");
    CHECK(stream.push(llama.id_of("<0xC3>").value()).empty());
    CHECK(stream.push(llama.id_of("<0xA9>").value()).empty());  // may still turn out to be invalid
    CHECK(stream.push(the) == "é the");
    CHECK(stream.finish().empty());
    CHECK(stream.push(the) == "the");
}

TEST_CASE("stream decoder: random ids give the same text as decode", "[tokenizer]") {
    std::mt19937 random(11);
    for (const char* folder : tokenizer_folders) {
        const Tokenizer tokenizer = tokenizer_in(folder);
        for (int round = 0; round < 300; ++round) {
            Ids ids(random() % 40);
            for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % (round % 2 == 0 ? 270 : 1010));
            CAPTURE(folder, ids);
            CHECK(streamed(tokenizer, ids, round % 3 == 0) == tokenizer.decode(ids, round % 3 == 0));
        }
    }
}

// ---- size -----------------------------------------------------------------------------------------------------------

TEST_CASE("tokenizer: a word of a megabyte takes seconds at most", "[tokenizer][slow]") {
    constexpr std::size_t size = test::long_text;
    std::string repeated;
    while (repeated.size() < size) repeated += "licensethe";
    for (const char* name : {"gpt2_bytebpe", "llama_sp_bpe"}) {
        const Tokenizer tokenizer = oracle_tokenizer(name);
        for (const std::string& text : {std::string(size, 'a'), std::string(size, ' '), repeated}) {
            CAPTURE(name, text.substr(0, 10));
            const double start = test::cpu_seconds();
            const Tokenizer::Encoding encoding = tokenizer.encode(text, false);
            CHECK(tokenizer.decode(encoding.ids, false) == text);
            CHECK(test::cpu_seconds() - start < 60);  // a quadratic loop takes an hour
            CHECK(encoding.offsets.back().second == text.size());
        }
    }
}
