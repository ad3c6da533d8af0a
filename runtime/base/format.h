// format("{} of {}: {:.1f} %", done, all, percent): type-safe text. A subset of std::format, which g++ 12 does not
// have.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// A replacement field: `{}` or `{:[<|>][+][0][width][.precision][type]}`. Numbers align to the right, text to the
/// left. A width (in bytes) or a precision is a number up to 99, or `{}`: then it is the integer argument after the
/// value, limited to 0 … 99.
struct FormatField {
    static constexpr int none = -1, next_argument = -2;
    char align = 0;  // 0: the default
    bool plus = false, zeros = false;
    int width = none, precision = none;
    char type = 0;  // d x X: integers; e f g: floating point, where it must be given; c: char; s: text
};

/// The types that a field may have for a T; none for bool, whose words the caller chooses, and for enums.
template <class T>
constexpr std::string_view format_types() {
    if constexpr (std::same_as<T, bool>) return "";
    if constexpr (std::same_as<T, char>) return "c";
    if constexpr (std::integral<T>) return "dxX";
    if constexpr (std::floating_point<T>) return "efg";
    return std::convertible_to<T, std::string_view> ? "s" : "";
}

/// Not constexpr: a call while a text is checked is an error at compile time.
[[noreturn]] void malformed_format(const char* reason);

/// Reads digits or `{}` at `at`, and moves `at` past them.
constexpr int read_format_number(std::string_view text, std::size_t& at) {
    if (text.substr(at).starts_with("{}")) return at += 2, FormatField::next_argument;
    int number = FormatField::none;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
        number = (number == FormatField::none ? 0 : 10 * number) + (text[at] - '0');
        if (number > 99) malformed_format("a width or a precision is at most 99");
    }
    return number;
}

/// Reads the field whose `{` is before `at`, and moves `at` past its `}`.
constexpr FormatField read_format_field(std::string_view text, std::size_t& at) {
    FormatField field;
    const auto accept = [&](std::string_view any) {
        return at < text.size() && any.find(text[at]) != any.npos ? text[at++] : '\0';
    };
    if (accept(":") != 0) {
        field.align = accept("<>");
        field.plus = accept("+") != 0;
        field.zeros = accept("0") != 0;
        field.width = read_format_number(text, at);
        if (accept(".") != 0) field.precision = read_format_number(text, at);
        field.type = accept("dxXefgcs");
    }
    if (accept("}") == 0) malformed_format("unknown specification, or a { without a }");
    return field;
}

/// Calls `literal(char)` for a character that is shown as written, and `replace(FormatField)` for a field.
template <class Literal, class Replace>
constexpr void walk_format(std::string_view text, Literal literal, Replace replace) {
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at++];
        if (const bool brace = c == '{' || c == '}'; !brace || (at < text.size() && text[at] == c)) {
            literal(c);
            if (brace) ++at;
        } else {
            if (c == '}') malformed_format("a } without a {; write }}");
            replace(read_format_field(text, at));
        }
    }
}

/// Fails unless the fields of `text` take exactly these arguments, each given by its `format_types`.
constexpr void check_format(std::string_view text, std::span<const std::string_view> arguments) {
    std::size_t next = 0;
    const auto take = [&](std::string_view types) {
        if (next == arguments.size()) malformed_format("more fields than arguments");
        if (arguments[next++].find_first_of(types) == types.npos) malformed_format("a field does not fit its argument");
    };
    walk_format(
        text, [](char) {},
        [&](const FormatField& field) {
            const std::string_view given(&field.type, 1);
            const bool precise = field.precision != FormatField::none;
            if (precise && field.type != 0 && std::string_view("efg").find(field.type) == given.npos)
                malformed_format("only floating point has a precision");
            const bool sign = field.plus || field.zeros;
            if (sign && (field.type == 's' || field.type == 'c')) malformed_format("only numbers have a sign or zeros");
            take(field.type != 0 ? given : precise ? "" : sign ? "d" : "dcs");
            if (field.width == FormatField::next_argument) take("d");
            if (field.precision == FormatField::next_argument) take("d");
        });
    if (next != arguments.size()) malformed_format("more arguments than fields");
}

/// The text of a call of `format`, checked against the arguments when it is compiled.
template <class... Arguments>
class FormatText {
public:
    consteval FormatText(const char* text) : text_(text) {
        const std::array<std::string_view, sizeof...(Arguments)> types{format_types<Arguments>()...};
        check_format(text_, types);
    }
    constexpr std::string_view text() const { return text_; }

private:
    std::string_view text_;
};

using FormatArgument = std::variant<std::int64_t, std::uint64_t, double, char, std::string_view>;

template <class T>
FormatArgument format_argument(const T& value) {
    if constexpr (std::same_as<T, char>)
        return value;
    else if constexpr (std::signed_integral<T>)
        return std::int64_t{value};
    else if constexpr (std::unsigned_integral<T>)
        return std::uint64_t{value};
    else if constexpr (std::floating_point<T>)
        return static_cast<double>(value);
    else
        return std::string_view(value);
}

std::string format_arguments(std::string_view text, std::span<const FormatArgument> arguments);

/// `text` with its fields replaced by the arguments. `{{` and `}}` are braces. An object, not a function: a call with a
/// std::string would also find std::format, where the standard library has it, and be ambiguous.
struct Format {
    template <class... Arguments>
    std::string operator()(FormatText<std::type_identity_t<Arguments>...> text, const Arguments&... arguments) const {
        const std::array<FormatArgument, sizeof...(Arguments)> list{format_argument(arguments)...};
        return format_arguments(text.text(), list);
    }
};
inline constexpr Format format;

/// "a, b, c": what `text_of_one` makes of each element, with the separator between them.
template <class Range, class Text = std::identity>
std::string join(const Range& range, std::string_view separator = ", ", Text text_of_one = {}) {
    std::string all;
    for (bool first = true; const auto& one : range) {
        if (!std::exchange(first, false)) all += separator;
        all += text_of_one(one);
    }
    return all;
}

/// The parts of a text that separators end; what follows the last one, if anything, is one, too. (A stream of the
/// standard library would drop what it has no memory for.)
std::vector<std::string> split(std::string_view text, char separator);

/// "17 B", "1.5 KiB", "512.0 MiB", "7.98 GiB": binary units, about three digits.
std::string bytes_text(std::uint64_t bytes);

/// A word of a command line, quoted for a shell if needed.
std::string shell_word(const std::string& text);

}  // namespace vantage::internal
