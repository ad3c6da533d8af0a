#include "runtime/text/jinja/strings.h"

#include <algorithm>
#include <utility>

#include "runtime/text/unicode.h"

namespace vantage::text::jinja {

std::size_t character_count(std::string_view text) {
    return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_continuation));
}

std::string_view character(std::string_view text, std::size_t place) {
    std::size_t at = 0;
    for (; place > 0; --place) at += character_at(text, at).bytes;
    return text.substr(at, character_at(text, at).bytes);
}

std::vector<std::string_view> characters(std::string_view text) {
    std::vector<std::string_view> all;
    all.reserve(character_count(text));
    for (const auto [code, begin, end] : Characters{text}) all.push_back(text.substr(begin, end - begin));
    return all;
}

// ---- cutting --------------------------------------------------------------------------------------------------------

bool is_python_space(char32_t c) { return is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

std::string_view strip(std::string_view text, Side side, const std::string* removed) {
    const auto goes = [&](std::string_view one) {
        return removed ? removed->find(one) != std::string::npos : is_python_space(character_at(one, 0).code);
    };
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

std::vector<std::string_view> split(std::string_view text, std::int64_t max_splits) {
    std::vector<std::string_view> parts;
    for (text = strip(text, Side::left); !text.empty(); text = strip(text, Side::left)) {
        if (max_splits >= 0 && std::ssize(parts) == max_splits) {
            parts.push_back(text);
            break;
        }
        std::size_t end = 0;
        for (const auto [code, begin, after] : Characters{text}) {
            if (is_python_space(code)) break;
            end = after;
        }
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

/// Maps each character to the case that `next` returns for it.
template <class Next>
std::string mapped(std::string_view text, Next next) {
    std::string out;
    out.reserve(text.size());
    for (const auto [c, begin, end] : Characters{text})
        out += encode_utf8(next(c) == Case::upper ? std::u32string(1, upper_case(c)) : lower_case(c));
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
