// JSON from untrusted files: parsing with limits on nesting and memory, and fields whose errors read
//     config.json: "n_head" is -3, wanted an integer from 1 to 1024
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/base/files.h"

namespace vantage::internal {

/// A tree of values. If an object has a key twice, the last value counts.
using Json = nlohmann::json;

/// Deeper than any model file. A limit is needed because copying or printing a tree takes a stack frame per level.
inline constexpr int json_max_depth = 100;

/// JSON has neither infinity nor NaN.
inline Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// At most `max_bytes` of a text, cut between characters.
inline std::string cut_short(const std::string& text, std::size_t max_bytes) {
    if (text.size() <= max_bytes) return text;
    std::size_t cut = max_bytes;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0u) == 0x80u) --cut;
    return text.substr(0, cut) + "…";
}

/// A text for a message: in quotes, on one line, at most 100 bytes.
inline std::string in_quotes(const std::string& text) {
    constexpr std::size_t max_bytes = 100;
    return cut_short(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace), max_bytes);
}

/// Shows a value in a message, in one short line.
inline std::string describe(const Json& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return format("a list of {}", value.size());
    return value.is_string() ? in_quotes(value.get_ref<const std::string&>()) : value.dump();
}

namespace json_detail {

/// Throws if the text is nested too deeply, or if its tree would take far more memory than the text, as a million empty
/// lists do: before the parser builds it. Counts what is outside strings.
inline void check_tree(std::string_view text, const std::string& name, std::size_t growth) {
    constexpr std::size_t allowance = std::size_t{24} << 20;
    std::size_t memory = 0;  // about what nlohmann's tree takes
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
            memory += 48;
        } else if (c == '[' || c == '{') {
            if (++depth > json_max_depth)
                throw bad_file_error("{}: nested deeper than {} levels at byte {}, wanted plain JSON", name,
                                     json_max_depth, i);
            memory += 64;
        } else if (c == ']' || c == '}') {
            --depth;
        } else if (c == ',') {
            memory += 32;
        } else if (c == ':') {
            memory += 64;
        }
    }
    if (const std::size_t most = growth * text.size() + allowance; memory > most)
        throw bad_file_error("{}: its lists and fields would take {} MB of memory, wanted at most {} for {} bytes",
                             name, memory >> 20, most >> 20, text.size());
}

/// nlohmann's message "[json.exception.parse_error.101] parse error at line 1, column 2: …", shortened and without the
/// bracket.
inline std::string parser_message(const std::exception& error) {
    std::string text = error.what();
    if (const std::size_t bracket = text.find("] "); bracket != std::string::npos) text.erase(0, bracket + 2);
    constexpr std::size_t max_bytes = 240;
    return cut_short(text, max_bytes);
}

/// Counts the keys of each object while a text is parsed. Throws bad_file for one that has more.
template <class Tree>
typename Tree::parser_callback_t key_limit(const std::string& name, int most) {
    return [&name, most, keys = std::vector<int>(json_max_depth + 2)](int depth, typename Tree::parse_event_t event,
                                                                      const Tree&) mutable {
        if (event == Tree::parse_event_t::object_start) keys[static_cast<std::size_t>(depth) + 1] = 0;
        if (event == Tree::parse_event_t::key && ++keys[static_cast<std::size_t>(depth)] > most)
            throw bad_file_error("{} has an object of more than {} keys", name, most);
        return true;
    };
}

}  // namespace json_detail

/// A tree whose objects keep the order of their keys, and compare them one by one.
using OrderedJson = nlohmann::ordered_json;
/// The limit for an OrderedJson of untrusted text.
inline constexpr int most_ordered_keys = 2048;

/// Parses a text, which messages call `name`. Throws bad_file when it is not JSON (with line and column), nested too
/// deeply, when its tree would take more than `growth` times its size and 24 MB, or when an object has more than
/// `most_keys` keys (0: no limit).
template <class Tree = Json>
Tree parse_json(std::string_view text, const std::string& name, std::size_t growth = 6, int most_keys = 0) {
    json_detail::check_tree(text, name, growth);
    try {
        if (most_keys == 0) return Tree::parse(text.begin(), text.end());
        return Tree::parse(text.begin(), text.end(), json_detail::key_limit<Tree>(name, most_keys));
    } catch (const typename Tree::exception& error) {
        throw bad_file_error(name + ": not JSON: " + json_detail::parser_message(error));
    }
}

/// Parses a file. Throws bad_file when it is missing, larger than `limit` bytes or not JSON.
inline Json read_json(const std::string& path, std::size_t limit = std::size_t{256} << 20) {
    return parse_json(read_file(path, limit), path);
}

/// The fields of one object. Each reader throws bad_file with the file's name, the field, what was found and what is
/// expected. The `optional_` readers return nothing for a field that is absent or null. The tree must outlive it.
class JsonFields {
public:
    /// `path` is the place of the object in the file, such as "rope_scaling", or empty for the whole file.
    JsonFields(const Json& object, std::string name, std::string path = {})
        : object_(&object), name_(std::move(name)), path_(std::move(path)) {
        if (object.is_object()) return;
        const std::string what = path_.empty() ? "the file" : in_quotes(path_);
        throw bad_file_error(name_ + ": " + what + " is " + describe(object) + ", wanted an object");
    }
    JsonFields(Json&& object, std::string name, std::string path = {}) = delete;

    const Json& json() const { return *object_; }
    const std::string& name() const { return name_; }
    /// The field's place in the file, such as "rope_scaling.factor".
    std::string path_of(std::string_view key) const { return (path_.empty() ? "" : path_ + ".") + std::string(key); }
    /// Present, and not null.
    bool has(std::string_view key) const { return find(key) != nullptr; }

    std::int64_t integer(std::string_view key, std::int64_t min = lowest, std::int64_t max = highest) const {
        return required(optional_integer(key, min, max), key, integer_text(min, max));
    }
    std::optional<std::int64_t> optional_integer(std::string_view key, std::int64_t min = lowest,
                                                 std::int64_t max = highest) const {
        const Json* value = find(key);
        if (value == nullptr) return std::nullopt;
        const std::optional<std::int64_t> number = integer_within(*value, min, max);
        if (!number) fail(key, integer_text(min, max));
        return number;
    }

    /// A finite number within the limits.
    double number(std::string_view key, double min = -largest, double max = largest) const {
        return required(optional_number(key, min, max), key, number_text(min, max));
    }
    std::optional<double> optional_number(std::string_view key, double min = -largest, double max = largest) const {
        const auto number = optional_value<double>(key, &Json::is_number, number_text(min, max));
        if (number && !(*number >= min && *number <= max)) fail(key, number_text(min, max));
        return number;
    }

    std::string text(std::string_view key) const { return required(optional_text(key), key, "a text"); }
    std::optional<std::string> optional_text(std::string_view key) const {
        return optional_value<std::string>(key, &Json::is_string, "a text");
    }

    /// A text that must be one of `known`. The error lists them.
    std::string one_of(std::string_view key, std::initializer_list<const char*> known) const {
        return one_of(key, std::vector<const char*>(known));
    }
    std::string one_of(std::string_view key, const std::vector<const char*>& known) const {
        const Json* value = find(key);
        for (const char* word : known)
            if (value != nullptr && *value == word) return word;
        fail(key, "one of: " + join(known));
    }

    bool flag(std::string_view key) const { return required(optional_flag(key), key, "true or false"); }
    std::optional<bool> optional_flag(std::string_view key) const {
        return optional_value<bool>(key, &Json::is_boolean, "true or false");
    }

    /// A list of integers. A single integer is a list of one, and an absent field is an empty list, because
    /// `eos_token_id` occurs in all three forms.
    std::vector<std::int64_t> integers(std::string_view key, std::int64_t min, std::int64_t max) const {
        const Json* value = find(key);
        std::vector<std::int64_t> numbers;
        if (value == nullptr) return numbers;
        if (!value->is_array()) return {integer(key, min, max)};
        for (const Json& element : *value) {
            const std::optional<std::int64_t> number = integer_within(element, min, max);
            if (!number) fail_element(key, numbers.size(), integer_text(min, max));
            numbers.push_back(*number);
        }
        return numbers;
    }

    const Json& list(std::string_view key) const {
        const Json* value = find(key);
        if (value == nullptr || !value->is_array()) fail(key, "a list");
        return *value;
    }
    JsonFields object(std::string_view key) const {
        const Json* value = find(key);
        if (value == nullptr || !value->is_object()) fail(key, "an object");
        return {*value, name_, path_of(key)};
    }
    std::optional<JsonFields> optional_object(std::string_view key) const {
        if (find(key) == nullptr) return std::nullopt;
        return object(key);
    }
    /// Element `i` of the list `key`, which must be an object.
    JsonFields element(std::string_view key, std::size_t i) const {
        return {list(key).at(i), name_, path_of(key) + "[" + std::to_string(i) + "]"};
    }

    /// The value as a 64-bit integer, if it is one. 12.0 is an integer; 1e30 and 0.5 are not.
    static std::optional<std::int64_t> integer_of(const Json& value) {
        if (value.is_number_unsigned()) {
            const auto number = value.get<std::uint64_t>();
            if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
            return static_cast<std::int64_t>(number);
        }
        if (value.is_number_integer()) return value.get<std::int64_t>();
        if (!value.is_number_float()) return std::nullopt;
        const double number = value.get<double>();
        if (!(std::abs(number) < 0x1p53) || std::trunc(number) != number) return std::nullopt;
        return static_cast<std::int64_t>(number);
    }

    /// Throws bad_file about the field: what was found, and what is expected.
    [[noreturn]] void fail(std::string_view key, const std::string& wanted) const {
        const auto found = object_->find(key);
        if (found == object_->end())
            throw bad_file_error(name_ + ": " + in_quotes(path_of(key)) + " is missing, wanted " + wanted);
        fail_at(key, describe(*found), wanted);
    }
    /// Throws bad_file about element `i` of the list `key`.
    [[noreturn]] void fail_element(std::string_view key, std::size_t i, const std::string& wanted) const {
        fail_at(std::string(key) + "[" + std::to_string(i) + "]", describe(list(key).at(i)), wanted);
    }

private:
    static constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                                  highest = std::numeric_limits<std::int64_t>::max();
    static constexpr double largest = std::numeric_limits<double>::max();

    template <class T>
    std::optional<T> optional_value(std::string_view key, bool (Json::*is_wanted)() const noexcept,
                                    const std::string& wanted) const {
        const Json* value = find(key);
        if (value == nullptr) return std::nullopt;
        if (!(value->*is_wanted)()) fail(key, wanted);
        return value->get<T>();
    }
    template <class T>
    T required(const std::optional<T>& value, std::string_view key, const std::string& wanted) const {
        if (!value) fail(key, wanted);
        return *value;
    }
    const Json* find(std::string_view key) const {
        const auto found = object_->find(key);
        return found == object_->end() || found->is_null() ? nullptr : &*found;
    }
    [[noreturn]] void fail_at(std::string_view key, const std::string& is, const std::string& wanted) const {
        throw bad_file_error(name_ + ": " + in_quotes(path_of(key)) + " is " + is + ", wanted " + wanted);
    }

    static std::optional<std::int64_t> integer_within(const Json& value, std::int64_t min, std::int64_t max) {
        const std::optional<std::int64_t> number = integer_of(value);
        return number && *number >= min && *number <= max ? number : std::nullopt;
    }
    static std::string integer_text(std::int64_t min, std::int64_t max) {
        if (min == lowest && max == highest) return "an integer";
        if (max == highest) return "an integer of at least " + std::to_string(min);
        return "an integer from " + std::to_string(min) + " to " + std::to_string(max);
    }
    static std::string number_text(double min, double max) {
        if (min == -largest && max == largest) return "a number";
        if (max == largest) return format("a number of at least {:g}", min);
        return format("a number from {:g} to {:g}", min, max);
    }

    const Json* object_;
    std::string name_, path_;
};

}  // namespace vantage::internal
