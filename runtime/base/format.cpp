#include "runtime/base/format.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <stdexcept>

namespace vantage::internal {
namespace {

// Enough for the 309 digits of the largest double, a sign, a point and 99 decimals.
using Digits = std::array<char, 512>;

std::string written(const FormatField& field, double value, int precision) {
    const std::chars_format style = field.type == 'e'   ? std::chars_format::scientific
                                    : field.type == 'g' ? std::chars_format::general
                                                        : std::chars_format::fixed;
    Digits digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, style, precision);
    return {digits.data(), end.ptr};
}

template <std::integral T>
std::string written(const FormatField& field, T value, int) {
    Digits digits;
    const int base = field.type == 'x' || field.type == 'X' ? 16 : 10;
    std::string text(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr);
    if (field.type == 'X')
        for (char& c : text) c = c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
    return text;
}

std::string written(const FormatField&, char value, int) { return {value}; }
std::string written(const FormatField&, std::string_view value, int) { return std::string(value); }

std::string aligned(const FormatField& field, std::string text, bool number, int width) {
    if (field.plus && !text.starts_with('-')) text.insert(0, "+");
    const auto wanted = static_cast<std::size_t>(std::max(width, 0)),
               missing = std::max(wanted, text.size()) - text.size();
    const bool left = field.align == '<' || (field.align == 0 && !number);
    const std::size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
    if (field.zeros && field.align == 0 && number) return text.insert(sign, missing, '0');
    return text.insert(left ? text.size() : 0, missing, ' ');
}

}  // namespace

void malformed_format(const char* reason) { throw std::logic_error(reason); }

std::string format_arguments(std::string_view text, std::span<const FormatArgument> arguments) {
    std::string result;
    std::size_t next = 0;
    const auto number = [&](int given) {
        if (given != FormatField::next_argument) return given;
        return std::visit(
            [](auto value) {
                if constexpr (std::integral<decltype(value)>)
                    return static_cast<int>(std::clamp<decltype(value)>(value, 0, 99));
                return 0;
            },
            arguments[next++]);
    };
    const auto replace = [&](const FormatField& field) {
        const FormatArgument& argument = arguments[next++];
        const int width = number(field.width), precision = number(field.precision);
        const bool is_number = argument.index() < 3;
        std::string piece =
            std::visit([&](auto value) { return written(field, value, precision < 0 ? 6 : precision); }, argument);
        result += aligned(field, std::move(piece), is_number, width);
    };
    walk_format(
        text, [&](char c) { result += c; }, replace);
    return result;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        parts.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

std::string bytes_text(std::uint64_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (bytes < 1024u) return format("{} B", bytes);
    if (bytes < (1ull << 20)) return format("{:.1f} KiB", value / 0x1p10);
    if (bytes < (1ull << 30)) return format("{:.1f} MiB", value / 0x1p20);
    return format("{:.2f} GiB", value / 0x1p30);
}

std::string shell_word(const std::string& text) {
    const auto plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_-.:,/%+=", c) != nullptr;
    };
    if (!text.empty() && std::ranges::all_of(text, plain)) return text;
    return "'" + join(text, "", [](char c) { return c == '\'' ? std::string("'\\''") : std::string(1, c); }) + "'";
}

}  // namespace vantage::internal
