// Commands, their options, and checks of numbers. (CLI::PositiveNumber and NonNegativeNumber write the largest
// double, with its 309 digits, into their messages; CLI::Range takes not-a-number for one that is in it.)
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/format.h"
#include "runtime/base/options.h"

namespace vantage::cli {

/// Adds a command; its help ends with `footer`.
inline CLI::App& add_command(CLI::App& app, const char* name, const char* description, const char* footer) {
    CLI::App* command = app.add_subcommand(name, description);
    command->footer(footer);
    return *command;
}

template <class Value>
inline constexpr bool is_whole_number = std::is_integral_v<Value> && !std::is_same_v<Value, bool>;
template <class Value>
inline constexpr bool is_whole_number<std::optional<Value>> = is_whole_number<Value>;
template <class Value>
inline constexpr bool is_whole_number<std::vector<Value>> = is_whole_number<Value>;

inline std::string without_leading_zeros(std::string text) {
    text.erase(0, std::min(text.size(), text.find_first_not_of(' ')));
    const std::size_t first = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
    const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
    while (digit(first) && text[first] == '0' && digit(first + 1)) text.erase(first, 1);
    return text;
}
template <class Value>
inline constexpr bool is_real_number = std::is_floating_point_v<Value>;
template <class Value>
inline constexpr bool is_real_number<std::optional<Value>> = is_real_number<Value>;

/// Adds an option. CLI11 would read 010 as eight, and nothing as 0.
template <class Value>
CLI::Option* add_any_option(CLI::App& command, const char* name, Value& value, const std::string& help) {
    CLI::Option* option = command.add_option(name, value, help);
    if constexpr (is_whole_number<Value> || is_real_number<Value>) {
        const auto read = [](std::string& text) {
            if (text.find_first_not_of(' ') == text.npos) return std::string("expected a number, got an empty text");
            if (is_whole_number<Value>) text = without_leading_zeros(text);
            return std::string();
        };
        option->transform(CLI::Validator(read, ""));
    }
    return option;
}
/// Adds an option; the help shows its value as `type`.
template <class Value>
CLI::Option* add_option(CLI::App& command, const char* name, Value& value, const std::string& help, const char* type) {
    return add_any_option(command, name, value, help)->type_name(type);
}
/// Adds an option whose default the help shows.
template <class Value>
CLI::Option* add_setting(CLI::App& command, const char* name, Value& value, const std::string& help) {
    return add_any_option(command, name, value, help)->capture_default_str();
}

/// Whether the command line has an option. What the environment sets for all commands does not count.
inline bool is_given(const CLI::Option& option) {
    if (option.count() == 0) return false;
    const std::string& name = option.get_envname();
    const std::optional<std::string> value = name.empty() ? std::nullopt : internal::environment(name.c_str());
    return !value || (option.get_expected_max() > 0 && option.results() != std::vector{*value});
}

/// The option excludes all others of the command, except those in `kept`.
inline void exclude_others(CLI::App& command, CLI::Option& option, std::initializer_list<const char*> kept = {}) {
    for (CLI::Option* other : command.get_options()) {
        const auto is = [&](const char* name) { return other->check_name(name); };
        if (other != &option && other != command.get_help_ptr() && std::ranges::none_of(kept, is))
            option.excludes(other);
    }
}

/// Throws usage_error, "OPTION WHY", if the command line has an option that has no effect. For what depends on a value or
/// a model; and CLI's `needs` and `excludes` take what the environment sets for all commands for what was typed.
inline void refuse_unless(bool has_effect, const CLI::App& command, const char* option, const std::string& why) {
    if (!has_effect && is_given(*command.get_option(option))) throw usage_error("{} {}", option, why);
}

/// --dump DIR: a folder for the node that fails, which `vantage replay` runs again. Throws bad_file before anything runs
/// if the folder is not new or empty.
inline void add_dump_option(CLI::App& command, std::string& folder, const std::string& what) {
    const CLI::Validator is_new(
        [](const std::string& path) {
            if (!path.empty()) internal::require_new_folder(path);
            return std::string();
        },
        "");
    add_option(command, "--dump", folder,
               what + " to this folder, which must be new or empty: `vantage replay DIR` runs it again", "DIR")
        ->check(is_new);
}

/// Fails with "expected a number WHAT, got TEXT" unless `holds`.
template <class Holds>
CLI::Validator number_check(const std::string& what, const char* name, Holds holds) {
    return {[=](std::string& text) {
                double number = 0;
                const bool valid = CLI::detail::lexical_cast(text, number) && holds(number);
                return valid ? std::string() : std::string("expected a number") + what + ", got " + text;
            },
            name};
}
inline const CLI::Validator above_zero = number_check(" above 0", "POSITIVE", [](double x) { return x > 0; });
inline const CLI::Validator one_or_more = number_check(", 1 or more", "COUNT", [](double x) { return x >= 1; });
inline const CLI::Validator zero_or_more = number_check(", 0 or more", "NONNEGATIVE", [](double x) { return x >= 0; });
inline const CLI::Validator below_one =
    number_check(" from 0 to below 1", "FRACTION", [](double x) { return x >= 0 && x < 1; });
/// For an option that nothing would switch off.
inline const CLI::Validator not_empty = {
    [](const std::string& text) { return text.empty() ? "got an empty text" : ""; }, ""};
/// A number of bytes, as 6G. (CLI::AsSizeValue takes a negative one for a huge one.)
inline CLI::Validator size_in_bytes() {
    return {[](std::string& text) {
                if (text.find('-') != text.npos) return "expected a size such as 6G, got " + text;
                text = without_leading_zeros(text);
                return CLI::AsSizeValue(false)(text);
            },
            ""};
}
/// From `least` to `most`.
inline CLI::Validator between(double least, double most) {
    const std::string what = format(" from {:g} to {:g}", least, most);
    return number_check(what, "RANGE", [=](double x) { return x >= least && x <= most; });
}

}  // namespace vantage::cli
