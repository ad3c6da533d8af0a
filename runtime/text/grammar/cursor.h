// A place in a text that moves on by code points, and what the parsers of GBNF and of regular expressions both read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/utf8.h"
#include "runtime/text/grammar/rules.h"

namespace vantage::text::grammar {

inline constexpr int most_nested_groups = 64;  ///< which the parsers and RuleBuilder::build follow by recursion

inline bool is_ascii_digit(char32_t code) { return code >= '0' && code <= '9'; }
inline bool is_ascii_letter(char32_t code) { return (code | 0x20u) >= 'a' && (code | 0x20u) <= 'z'; }

/// How often a part may stand there.
struct Repetition {
    std::int64_t least;
    std::optional<std::int64_t> most;
};

class Cursor {
public:
    explicit Cursor(std::string_view valid) : text_(valid) {}

    std::size_t at() const { return at_; }  ///< in bytes
    bool at_end() const { return at_ == text_.size(); }
    bool here(std::string_view wanted) const { return text_.substr(at_).starts_with(wanted); }
    bool skip(std::string_view wanted) {
        if (!here(wanted)) return false;
        at_ += wanted.size();
        return true;
    }
    /// The next character; beyond the last code point at the end.
    char32_t now() const { return at_end() ? last_code_point + 1 : internal::character_at(text_, at_).code; }
    /// Takes the next character, which must be there.
    char32_t take() {
        const internal::Character c = internal::character_at(text_, at_);
        at_ += c.bytes;
        return c.code;
    }
    std::string_view taken_since(std::size_t begin) const { return text_.substr(begin, at_ - begin); }
    /// For a message: the next character, or that there is none.
    std::string found() const {
        if (at_end()) return "the end";
        return "\"" + internal::escape_controls(text_.substr(at_, internal::character_at(text_, at_).bytes)) + "\"";
    }

    /// So many hexadecimal digits.
    std::optional<char32_t> take_hex(std::size_t digits) {
        const std::string_view all = text_.substr(at_, digits);
        char32_t code = 0;
        for (const char c : all) {
            const auto digit = static_cast<char32_t>(std::string_view("0123456789abcdef").find(lower(c)));
            if (digit > 15) return {};
            code = 16 * code + digit;
        }
        if (all.size() != digits) return {};
        at_ += digits;
        return code;
    }
    /// A decimal number; most_repetitions + 1 for all that are larger.
    std::optional<std::int64_t> take_number() {
        if (!is_ascii_digit(now())) return {};
        std::int64_t number = 0;
        while (is_ascii_digit(now()))
            number = std::min<std::int64_t>(10 * number + (take() - '0'), most_repetitions + 1);
        return number;
    }
    /// * + or ?
    std::optional<Repetition> take_repetition_sign() {
        if (skip("*")) return Repetition{0, {}};
        if (skip("+")) return Repetition{1, {}};
        if (skip("?")) return Repetition{0, 1};
        return {};
    }

private:
    static char lower(char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace vantage::text::grammar
