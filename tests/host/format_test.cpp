// Formatting: the same text as printf, from typed arguments, and refusal of what does not fit.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <limits>
#include <stdexcept>

#include "runtime/base/format.h"

using namespace vantage;

namespace {

// What printf writes for one number.
template <class T>
std::string printed(const char* directive, T value) {
    std::array<char, 600> text{};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    std::snprintf(text.data(), text.size(), directive, value);
#pragma GCC diagnostic pop
    return text.data();
}

template <class... Arguments>
void check(const char* text) {
    const std::array<std::string_view, sizeof...(Arguments)> types{format_types<Arguments>()...};
    check_format(text, types);
}

}  // namespace

TEST_CASE("format takes integers of every width, text and char", "[base]") {
    CHECK(format("{} of {}", 3, std::size_t{7}) == "3 of 7");
    CHECK(format("{}", std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
    CHECK(format("{}", std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
    CHECK(format("{} {}", std::int8_t{-5}, std::uint8_t{200}) == "-5 200");
    const char* pointer = "pointer";
    CHECK(format("{} {} {} {}{}", "literal", std::string("string"), std::string_view("view"), pointer, '!') ==
          "literal string view pointer!");
    CHECK(format("no fields") == "no fields");
    CHECK(format("{{{}}} 100 %", 1) == "{1} 100 %");
    CHECK(format("{}", std::string(3, '{')) == "{{{");
}

TEST_CASE("format writes numbers as printf does", "[base]") {
    for (const double value : {0.0, -0.0, 1.0, -2.5, 0.1, 1e-7, 123456789.0, 1e100, std::numeric_limits<double>::max(),
                               std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        CAPTURE(value);
        CHECK(format("{:f}", value) == printed("%f", value));
        CHECK(format("{:.0f}", value) == printed("%.0f", value));
        CHECK(format("{:.3f}", value) == printed("%.3f", value));
        CHECK(format("{:+.2f}", value) == printed("%+.2f", value));
        CHECK(format("{:g}", value) == printed("%g", value));
        CHECK(format("{:.17g}", value) == printed("%.17g", value));
        CHECK(format("{:e}", value) == printed("%e", value));
        CHECK(format("{:9.2g}|{:<9.2g}|", value, value) == printed("%9.2g|", value) + printed("%-9.2g|", value));
    }
    for (const int value : {0, 7, -7, 255, -123456}) {
        CAPTURE(value);
        CHECK(format("{:5}|{:<5}|", value, value) == printed("%5d|", value) + printed("%-5d|", value));
        CHECK(format("{:05}", value) == printed("%05d", value));
        CHECK(format("{:+}", value) == printed("%+d", value));
    }
    CHECK(format("{:04x} {:02X} {:x}", 0xabcu, 0xfu, std::uint64_t{0x123456789abcdef}) == "0abc 0F 123456789abcdef");
    CHECK(format("{:.2f}", 0.125f) == "0.12");
    CHECK(format("{:06.1f}", -2.5) == "-002.5");
}

TEST_CASE("format aligns to a width, which may be an argument", "[base]") {
    CHECK(format("{:4}|{:>4}|{:<4}|", "ab", "ab", "ab") == "ab  |  ab|ab  |");
    CHECK(format("{:2}|{:>2}|", "abc", 1234) == "abc|1234|");
    CHECK(format("{:>{}}|{:.{}f}|{:{}.{}f}|", "ab", 5, 1.25, 1, 2.0, 6, 2) == "   ab|1.2|  2.00|");
    CHECK(format("{:{}}", 7, -3) == "7");
}

TEST_CASE("texts that do not fit their arguments are refused", "[base]") {
    CHECK_NOTHROW(check<int, double, std::string, char>("{:d} {:.3f} {:s} {:c} {{}}"));
    CHECK_THROWS_AS(check<>("{}"), std::logic_error);
    CHECK_THROWS_AS(check<int>("nothing"), std::logic_error);
    CHECK_THROWS_AS((check<int, int>("{}")), std::logic_error);
    for (const char* text :
         {"{", "}", "{:", "{:}}", "{:q}", "{0}", "{: }", "{:100}", "{:.3}", "{:.3d}", "{:.f}", "{:f}", "{:s}"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(check<int>(text), std::logic_error);
    }
    CHECK_THROWS_AS(check<double>("{}"), std::logic_error);  // how many digits must be said
    CHECK_THROWS_AS(check<double>("{:d}"), std::logic_error);
    CHECK_THROWS_AS(check<std::string>("{:.3s}"), std::logic_error);
    for (const char* text : {"{:x}", "{:+}", "{:+s}", "{:05}"})
        CHECK_THROWS_AS(check<std::string>(text), std::logic_error);
    CHECK_THROWS_AS(check<bool>("{}"), std::logic_error);
    CHECK_THROWS_AS((check<int, double>("{:{}}")), std::logic_error);
}
