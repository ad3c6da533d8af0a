#include "runtime/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <optional>

namespace vantage::text {

// ---- properties ----------------------------------------------------------------------------------------------------

namespace {
utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }
bool is_between(char32_t c, utf8proc_category_t first, utf8proc_category_t last) {
    return category(c) >= first && category(c) <= last;
}
}  // namespace

bool is_white_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_numeric(char32_t c) { return is_between(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }

bool is_punctuation(char32_t c) {
    if (c < 0x80)
        return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
    return is_between(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool is_combining_mark(char32_t c) { return is_between(c, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME); }

bool is_nonspacing_mark(char32_t c) { return category(c) == UTF8PROC_CATEGORY_MN; }

bool is_control(char32_t c) {
    return is_between(c, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO) && category(c) != UTF8PROC_CATEGORY_CS;
}

bool is_invisible(char32_t c) {
    if (c >= 0x20 && c < 0x7F) return false;
    const utf8proc_category_t kind = category(c);
    return kind == UTF8PROC_CATEGORY_CN || kind >= UTF8PROC_CATEGORY_ZS;  // Zs Zl Zp Cc Cf Cs Co are the last ones
}

std::u32string lower_case(char32_t c) {
    if (c == 0x130) return U"i\u0307";  // the only character whose lowercase has two
    return std::u32string(1, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

std::string_view last_character(std::string_view valid) {
    std::size_t begin = valid.size() - 1;
    while (begin > 0 && is_continuation(valid[begin])) --begin;
    return valid.substr(begin);
}

std::size_t grapheme_bytes(std::string_view valid, std::size_t at) {
    const std::size_t begin = at;
    utf8proc_int32_t state = 0;
    for (;;) {
        const Character c = character_at(valid, at);
        at += c.bytes;
        if (at == valid.size()) break;
        const char32_t next = character_at(valid, at).code;
        if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(c.code), static_cast<utf8proc_int32_t>(next),
                                             &state))
            break;
    }
    return at - begin;
}

char32_t upper_case(char32_t c) { return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))); }

// ---- normalization forms (Unicode Standard Annex 15) ----------------------------------------------------------------

namespace {

unsigned combining_class(char32_t c) {
    return static_cast<unsigned>(utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class);
}

/// Full decomposition of every character, with marks in canonical order.
std::vector<Change> decompose(std::string_view valid, bool compatible) {
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
    std::vector<Change> out;
    std::size_t sorted = 0;  // marks from here on are not in order yet
    const auto sort_marks = [&] {
        std::stable_sort(
            out.begin() + static_cast<std::ptrdiff_t>(sorted), out.end(),
            [](const Change& a, const Change& b) { return combining_class(a.code) < combining_class(b.code); });
        sorted = out.size();
    };
    for (const auto [c, begin, end] : Characters{valid}) {
        std::array<utf8proc_int32_t, 32> parts{};  // the longest decomposition (U+FDFA) has 18
        int boundary = 0;
        const utf8proc_ssize_t count =
            utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                    static_cast<utf8proc_ssize_t>(parts.size()), options, &boundary);
        const bool usable = count > 0 && static_cast<std::size_t>(count) <= parts.size();
        for (std::size_t i = 0; i < (usable ? static_cast<std::size_t>(count) : 1); ++i) {
            const char32_t part = usable ? static_cast<char32_t>(parts[i]) : c;
            if (combining_class(part) == 0) sort_marks();
            out.push_back({part, i == 0 ? 0 : 1});
        }
    }
    sort_marks();
    return out;
}

/// The composition of a starter and a following character, if there is one that is not excluded.
std::optional<char32_t> compose(char32_t starter, char32_t next) {
    std::array<utf8proc_int32_t, 2> pair{static_cast<utf8proc_int32_t>(starter), static_cast<utf8proc_int32_t>(next)};
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    if (utf8proc_normalize_utf32(pair.data(), 2, options) != 1) return std::nullopt;
    return static_cast<char32_t>(pair[0]);
}

/// Composes each starter with the marks after it that are not blocked. The result replaces the starter's old character
/// and swallows the others, so that offsets point to the starter.
std::vector<Change> recompose(const std::vector<Change>& parts) {
    std::vector<Change> out;
    std::optional<std::size_t> starter;  // its index in `out`
    unsigned last_class = 0;             // combining class of the previous mark; 0: the starter itself
    for (const Change& part : parts) {
        const unsigned part_class = combining_class(part.code);
        const bool adjacent = starter && *starter + 1 == out.size();
        const bool blocked = !starter || (!adjacent && last_class >= part_class);
        if (!blocked) {
            if (const std::optional<char32_t> joined = compose(out[*starter].code, part.code)) {
                out[*starter].code = *joined;
                out[*starter].change += part.change - 1;
                continue;
            }
        }
        if (part_class == 0) starter = out.size();
        last_class = part_class;
        out.push_back(part);
    }
    return out;
}

}  // namespace

std::vector<Change> normalize(std::string_view valid, NormalForm form) {
    std::vector<Change> parts = decompose(valid, form == NormalForm::nfkc || form == NormalForm::nfkd);
    if (form == NormalForm::nfd || form == NormalForm::nfkd) return parts;
    return recompose(parts);
}

}  // namespace vantage::text
