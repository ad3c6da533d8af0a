#include "runtime/text/jinja/strings.h"

#include <algorithm>
#include <utility>

#include "runtime/text/unicode.h"

namespace vantage::text::jinja {

std::size_t character_count(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

std::string_view character(std::string_view text, std::size_t place) {
    std::size_t at = 0;
    for (; place > 0; --place) at += character_at(text, at).bytes;
    return text.substr(at, character_at(text, at).bytes);
}

std::vector<std::string_view> characters(std::string_view text) {
    std::vector<std::string_view> all;
    for (std::size_t at = 0; at < text.size(); at += all.back().size())
        all.push_back(text.substr(at, character_at(text, at).bytes));
    return all;
}

// ---- cutting --------------------------------------------------------------------------------------------------------

bool is_python_space(char32_t c) { return is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

namespace {

bool is_space(std::string_view one) { return is_python_space(character_at(one, 0).code); }

std::string_view last_character(std::string_view text) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0u) == 0x80u) --begin;
    return text.substr(begin);
}

template <class Goes>
std::string_view strip_where(std::string_view text, Side side, const Goes& goes) {
    while (side != Side::right && !text.empty()) {
        const std::string_view first = text.substr(0, character_at(text, 0).bytes);
        if (!goes(first)) break;
        text.remove_prefix(first.size());
    }
    while (side != Side::left && !text.empty()) {
        const std::string_view last = last_character(text);
        if (!goes(last)) break;
        text.remove_suffix(last.size());
    }
    return text;
}

}  // namespace

std::string_view strip(std::string_view text, Side side) { return strip_where(text, side, is_space); }
std::string_view strip(std::string_view text, Side side, std::string_view removed) {
    return strip_where(text, side, [&](std::string_view one) { return removed.find(one) != std::string_view::npos; });
}

std::vector<std::string_view> split(std::string_view text, std::int64_t max_splits) {
    std::vector<std::string_view> parts;
    for (text = strip(text, Side::left); !text.empty(); text = strip(text, Side::left)) {
        if (max_splits >= 0 && std::ssize(parts) == max_splits) {
            parts.push_back(text);
            break;
        }
        std::size_t end = 0;
        while (end < text.size() && !is_python_space(character_at(text, end).code))
            end += character_at(text, end).bytes;
        parts.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return parts;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator, std::int64_t max_splits) {
    std::vector<std::string_view> parts;
    while (max_splits < 0 || std::ssize(parts) < max_splits) {
        const std::size_t at = text.find(separator);
        if (at == std::string_view::npos) break;
        parts.push_back(text.substr(0, at));
        text.remove_prefix(at + separator.size());
    }
    parts.push_back(text);
    return parts;
}

std::size_t occurrences(std::string_view text, std::string_view old) {
    if (old.empty()) return character_count(text) + 1;
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(old, at)) != std::string_view::npos; at += old.size()) ++count;
    return count;
}

std::string replace(std::string_view text, std::string_view old, std::string_view with, std::size_t max_splits) {
    std::string out;
    while (max_splits > 0) {
        const std::size_t at = text.find(old);
        if (at == std::string_view::npos) break;
        out.append(text.substr(0, at)).append(with);
        text.remove_prefix(at + old.size());
        --max_splits;
        if (!old.empty()) continue;
        if (text.empty()) break;
        const unsigned bytes =
            character_at(text, 0).bytes;  // an empty string matches before each character, and at the end
        out += text.substr(0, bytes);
        text.remove_prefix(bytes);
    }
    return out.append(text);
}

// ---- letters --------------------------------------------------------------------------------------------------------

namespace {

enum class Case { upper, lower };

void append_in(std::string& out, char32_t c, Case wanted) {
    if (wanted == Case::upper) return append_utf8(out, upper_case(c));
    for (const char32_t lower : lower_case(c)) append_utf8(out, lower);
}

/// Maps each character to the case that `next` returns for it.
template <class Next>
std::string mapped(std::string_view text, Next next) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const Character c = character_at(text, at);
        append_in(out, c.code, next(c.code));
        at += c.bytes;
    }
    return out;
}

}  // namespace

std::string upper(std::string_view text) {
    return mapped(text, [](char32_t) { return Case::upper; });
}
std::string lower(std::string_view text) {
    return mapped(text, [](char32_t) { return Case::lower; });
}

std::string capitalize(std::string_view text) {
    return mapped(text,
                  [first = true](char32_t) mutable { return std::exchange(first, false) ? Case::upper : Case::lower; });
}

std::string title(std::string_view text) {
    return mapped(text, [inside = false](char32_t c) mutable {
        const bool letter = upper_case(c) != c || lower_case(c) != std::u32string(1, c);
        return std::exchange(inside, letter) ? Case::lower : Case::upper;
    });
}

std::string title_words(std::string_view text) {
    return mapped(text, [inside = false](char32_t c) mutable {
        const bool between = is_python_space(c) || (c < 0x80 && std::string_view("-({[<").find(static_cast<char>(c)) !=
                                                                    std::string_view::npos);
        return std::exchange(inside, !between) ? Case::lower : Case::upper;
    });
}

}  // namespace vantage::text::jinja
