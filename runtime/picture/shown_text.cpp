#include "runtime/picture/shown_text.h"

#include <algorithm>
#include <array>

#include "runtime/base/format.h"
#include "runtime/base/utf8.h"

namespace vantage::internal {
namespace {

struct Range {
    char32_t first, last;
};

/// Combining marks and other characters without width.
constexpr std::array<Range, 24> zero_width{{
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},   {0x06d6, 0x06dc},
    {0x0900, 0x0902}, {0x093c, 0x093c}, {0x0941, 0x0948}, {0x094d, 0x094d}, {0x0e31, 0x0e31},   {0x0e34, 0x0e3a},
    {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x20d0, 0x20f0},   {0x302a, 0x302d},
    {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff}, {0xe0100, 0xe01ef},
}};

/// East Asian wide characters and emoji.
constexpr std::array<Range, 19> double_width{{
    {0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x25fd, 0x25fe},
    {0x2614, 0x2615}, {0x2648, 0x2653}, {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
    {0x4e00, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
}};

template <std::size_t n>
bool within(const std::array<Range, n>& ranges, char32_t character) {
    const auto next = std::ranges::upper_bound(ranges, character, {}, &Range::first);
    return next != ranges.begin() && character <= std::prev(next)->last;
}

/// Characters that control a terminal or reorder the text around them.
bool is_control(char32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x00ad || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
           (c >= 0xe0000 && c <= 0xe007f);
}

}  // namespace

int column_width(char32_t character) {
    if (character < 0x300) return 1;
    if (within(zero_width, character)) return 0;
    return within(double_width, character) ? 2 : 1;
}

int column_width(std::string_view text) {
    int width = 0;
    for (const char32_t character : decode_utf8(text)) width += column_width(character);
    return width;
}

std::string token_label(std::string_view token) {
    const std::u32string characters = decode_utf8(token);
    const bool blank = characters.find_first_not_of(U' ') == std::u32string::npos;
    std::string label;
    for (std::size_t i = 0; i < characters.size(); ++i) {
        const char32_t c = characters[i];
        const bool at_edge = i == 0 || i + 1 == characters.size();
        if (c == U' ' && blank)
            append_utf8(label, U'\u2423');  // ␣, because otherwise nothing would be visible
        else if (c == U' ' && at_edge)
            append_utf8(label, U'\u00b7');
        else if (c == U'\n')
            append_utf8(label, U'\u21b5');
        else if (c == U'\t')
            append_utf8(label, U'\u21e5');
        else if (is_control(c))
            label += format("<{:02X}>", static_cast<unsigned>(c));
        else
            append_utf8(label, c);
    }
    return label;
}

void WordPieces::add(std::string_view token) {
    const auto is_letter = [](char32_t c) {
        return c >= 0x80 || (c >= U'0' && c <= U'9') || (c >= U'A' && c <= U'Z') || (c >= U'a' && c <= U'z');
    };
    const std::u32string characters = decode_utf8(token);
    if (characters.empty()) return;
    found_ = found_ || (letter_before_ && is_letter(characters.front()));
    letter_before_ = is_letter(characters.back());
}

std::string token_label(std::string_view token, const WordPieces& text) {
    const bool leading = token.size() > 1 && token[0] == ' ' && token[1] != ' ';
    if (leading && !text.found()) token.remove_prefix(1);
    return token_label(token);
}

std::vector<std::string> token_labels(std::span<const std::string> tokens) {
    WordPieces pieces;
    for (const std::string& token : tokens) pieces.add(token);
    std::vector<std::string> labels;
    for (const std::string& token : tokens) labels.push_back(token_label(token, pieces));
    return labels;
}

std::string without_controls(std::string_view text) {
    std::u32string characters = decode_utf8(text);
    std::ranges::replace_if(characters, is_control, U' ');
    return encode_utf8(characters);
}

std::string without_trailing_zeros(std::string number) {
    if (number.find('.') == std::string::npos) return number;
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
    return number;
}

std::string shortened(std::string_view text, int columns) {
    if (column_width(text) <= columns) return repair_utf8(text);
    std::string result;
    int width = 1;  // of the "…"
    for (const char32_t character : decode_utf8(text)) {
        width += column_width(character);
        if (width > columns) break;
        append_utf8(result, character);
    }
    if (columns > 0) append_utf8(result, U'\u2026');
    return result;
}

}  // namespace vantage::internal
