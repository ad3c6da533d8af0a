// UTF-8 conversion and repair, and the normalization forms.
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "runtime/base/utf8.h"
#include "runtime/text/unicode.h"
#include "tests/host/reference_form.h"

using namespace vantage;

TEST_CASE("what controls a terminal is escaped", "[text]") {
    CHECK(escape_controls("a\x1b]0;t\a\r\n\t\x7f") == R"(a\x1b]0;t\x07\x0d\x0a\x09\x7f)");
    CHECK(escape_controls("a\n\tb\r", "\n\t") == "a\n\tb\\x0d");
    CHECK(escape_controls("\xC2\x9B|\u202E|\u2066|\u200F") == "\\x9b|\\x202e|\\x2066|\u200F");  // a mark turns nothing
    CHECK(escape_controls("\xFF\xE2\x80") == R"(\xff\xe2\x80)");
    CHECK(escape_controls(std::string(1, '\0'), "\n") == R"(\x00)");
    CHECK(escape_controls("Grüße, 世界 🙂") == "Grüße, 世界 🙂");
    CHECK(escape_controls_in_json("[\"\u009b\u202E\x7f é\",\n1]") == "[\"\\u009b\\u202e\\u007f é\",\n1]");
}

TEST_CASE("each maximal invalid sequence becomes one U+FFFD", "[text]") {
    CHECK(repair_utf8("a\xFFz") == "a\uFFFDz");
    CHECK(repair_utf8("\xE2\x82") == "\uFFFD");    // cut off: one
    CHECK(repair_utf8("\xE2\x82z") == "\uFFFDz");  // a truncated character: one
    CHECK(repair_utf8("\xF0\x9F\x98z") == "\uFFFDz");
    CHECK(repair_utf8("\xC0\xAF") == "\uFFFD\uFFFD");                      // overlong
    CHECK(repair_utf8("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");            // a surrogate
    CHECK(repair_utf8("\xF4\x90\x80\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD");  // above U+10FFFF
}

TEST_CASE("normalization forms agree with utf8proc on random strings", "[text]") {
    // Marks, Hangul, ligatures, excluded compositions and plain letters; the reference is utf8proc as a whole, of which
    // only the tables are used otherwise.
    const char32_t alphabet[] = {U'a',   U'e',   U'o',   U'é',    0x301,  0x300, 0x323,  0x327, 0x344,
                                 0x1100, 0x1161, 0x11A8, 0xAC00,  0xFB01, 0x958, 0x9C7,  0x9BE, 0x212B,
                                 0x1E9B, 0xF73,  0x2126, 0x1D15F, 0xFDFA, 0x345, 0x1F80, U'ſ',  U' '};
    std::mt19937 random(7);
    for (int round = 0; round < 4000; ++round) {
        std::string text;
        for (auto length = 1 + random() % 7; length > 0; --length)
            append_utf8(text, alphabet[random() % std::size(alphabet)]);
        for (const auto form :
             {text::NormalForm::nfc, text::NormalForm::nfd, text::NormalForm::nfkc, text::NormalForm::nfkd}) {
            std::string normal;
            for (const text::Change& change : text::normalize(text, form)) append_utf8(normal, change.code);
            if (normal == vantage::test::reference_form(text, form)) continue;
            CAPTURE(text, static_cast<int>(form), normal, vantage::test::reference_form(text, form));
            FAIL("another normal form");
        }
    }
}
