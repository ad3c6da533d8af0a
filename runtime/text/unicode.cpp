#include "runtime/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <optional>

namespace vantage::text {
namespace {

unsigned byte_at(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

/// Length of a sequence by its first byte, and the range of the second byte, which alone tells overlong forms, surrogates
/// and codes above U+10FFFF apart. Length 0: no sequence starts so.
struct Lead {
    unsigned length, low, high;
};
Lead lead_of(unsigned byte) {
    if (byte < 0x80) return {1, 0, 0};
    if (byte < 0xC2) return {0, 0, 0};
    if (byte < 0xE0) return {2, 0x80, 0xBF};
    if (byte < 0xF0) return {3, byte == 0xE0 ? 0xA0u : 0x80u, byte == 0xED ? 0x9Fu : 0xBFu};
    if (byte < 0xF5) return {4, byte == 0xF0 ? 0x90u : 0x80u, byte == 0xF4 ? 0x8Fu : 0xBFu};
    return {0, 0, 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view bytes, std::size_t at) {
    using Kind = Utf8Step::Kind;
    const Lead lead = lead_of(byte_at(bytes, at));
    if (lead.length == 0) return {Kind::broken, 1};
    for (unsigned i = 1; i < lead.length; ++i) {
        if (at + i == bytes.size()) return {Kind::cut_off, i};
        const unsigned byte = byte_at(bytes, at + i);
        if (byte < (i == 1 ? lead.low : 0x80u) || byte > (i == 1 ? lead.high : 0xBFu)) return {Kind::broken, i};
    }
    return {Kind::character, lead.length};
}

std::string repair_utf8(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    for (std::size_t at = 0; at < bytes.size();) {
        const Utf8Step step = utf8_step(bytes, at);
        if (step.kind == Utf8Step::Kind::character)
            out.append(bytes, at, step.bytes);
        else
            out += replacement_character;
        at += step.bytes;
    }
    return out;
}

bool is_utf8(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
        const Utf8Step step = utf8_step(bytes, at);
        if (step.kind != Utf8Step::Kind::character) return false;
        at += step.bytes;
    }
    return true;
}

Character character_at(std::string_view valid, std::size_t at) {
    const unsigned first = byte_at(valid, at);
    if (first < 0x80) return {first, 1};
    const unsigned length = lead_of(first).length;
    char32_t code = first & (0x7Fu >> length);
    for (unsigned i = 1; i < length; ++i) code = (code << 6) | (byte_at(valid, at + i) & 0x3Fu);
    return {code, length};
}

void append_utf8(std::string& out, char32_t code) {
    const auto put = [&out](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0 | (code >> 6));
        put(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        put(0xE0 | (code >> 12));
        put(0x80 | ((code >> 6) & 0x3F));
        put(0x80 | (code & 0x3F));
    } else {
        put(0xF0 | (code >> 18));
        put(0x80 | ((code >> 12) & 0x3F));
        put(0x80 | ((code >> 6) & 0x3F));
        put(0x80 | (code & 0x3F));
    }
}

std::u32string code_points(std::string_view valid) {
    std::u32string codes;
    for (std::size_t at = 0; at < valid.size();) {
        const Character c = character_at(valid, at);
        codes += c.code;
        at += c.bytes;
    }
    return codes;
}

// ---- properties ----------------------------------------------------------------------------------------------------

namespace {
utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }
}  // namespace

bool is_white_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_numeric(char32_t c) {
    const utf8proc_category_t kind = category(c);
    return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t c) {
    if (c < 0x80)
        return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
    const utf8proc_category_t kind = category(c);
    return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

bool is_combining_mark(char32_t c) {
    const utf8proc_category_t kind = category(c);
    return kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME;
}

bool is_invisible(char32_t c) {
    if (c >= 0x20 && c < 0x7F) return false;
    const utf8proc_category_t kind = category(c);
    return kind == UTF8PROC_CATEGORY_CN || kind >= UTF8PROC_CATEGORY_ZS;  // Zs Zl Zp Cc Cf Cs Co are the last ones
}

std::u32string lower_case(char32_t c) {
    if (c == 0x130) return U"i\u0307";  // the only character whose lowercase is longer than one
    return std::u32string(1, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

// ---- normalization forms (Unicode Standard Annex 15) -----------------------------------------------------------------

namespace {

unsigned combining_class(char32_t c) {
    return static_cast<unsigned>(utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class);
}

/// The full decomposition of every character, marks in canonical order.
std::vector<Change> decompose(std::string_view valid, bool compatible) {
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
    std::vector<Change> out;
    std::size_t sorted = 0;  // marks after this place are not in order yet
    const auto sort_marks = [&] {
        std::stable_sort(
            out.begin() + static_cast<std::ptrdiff_t>(sorted), out.end(),
            [](const Change& a, const Change& b) { return combining_class(a.code) < combining_class(b.code); });
        sorted = out.size();
    };
    for (std::size_t at = 0; at < valid.size();) {
        const Character c = character_at(valid, at);
        at += c.bytes;
        std::array<utf8proc_int32_t, 32> parts{};  // the longest decomposition (U+FDFA) has 18
        int boundary = 0;
        const utf8proc_ssize_t count =
            utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.code), parts.data(),
                                    static_cast<utf8proc_ssize_t>(parts.size()), options, &boundary);
        const bool usable = count > 0 && static_cast<std::size_t>(count) <= parts.size();
        for (std::size_t i = 0; i < (usable ? static_cast<std::size_t>(count) : 1); ++i) {
            const char32_t part = usable ? static_cast<char32_t>(parts[i]) : c.code;
            if (combining_class(part) == 0) sort_marks();
            out.push_back({part, i == 0 ? 0 : 1});
        }
    }
    sort_marks();
    return out;
}

/// The composition of a starter and what follows it, if the two have one that is not excluded.
std::optional<char32_t> compose(char32_t starter, char32_t next) {
    std::array<utf8proc_int32_t, 2> pair{static_cast<utf8proc_int32_t>(starter), static_cast<utf8proc_int32_t>(next)};
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    if (utf8proc_normalize_utf32(pair.data(), 2, options) != 1) return std::nullopt;
    return static_cast<char32_t>(pair[0]);
}

/// Joins each starter with the marks after it as far as nothing stands between them. A joined character counts as the
/// replacement of the starter's old character which swallows the others: offsets point to the starter.
std::vector<Change> recompose(const std::vector<Change>& parts) {
    std::vector<Change> out;
    std::optional<std::size_t> starter;  // its place in `out`
    unsigned last_class = 0;             // of the mark before, 0 when the starter itself stands there
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
