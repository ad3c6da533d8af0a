// Methods of strings and mappings. Mutating methods are missing, because Jinja's sandbox forbids them.
#include <algorithm>

#include "runtime/text/jinja/functions.h"
#include "runtime/text/jinja/strings.h"

namespace vantage::text::jinja {

const std::string* optional_text(const Value* value, const char* what) {
    return value == nullptr || is_none(*value) ? nullptr : &text_of(*value, what);
}
namespace {
const std::string& needed_text(const Value* value, const char* what) {
    const std::string* text = optional_text(value, what);
    if (text == nullptr) fail("{} is missing, wanted a text", what);
    return *text;
}
std::int64_t optional_integer(const Value* value, const char* what) {
    return value == nullptr ? -1 : integer_of(*value, what);
}

template <Side side>
Value stripped(const std::string& text, const Arguments& arguments, Budget& budget) {
    const std::string* removed = optional_text(arguments.bind("strip", {"chars"})[0], "strip: the characters");
    return budget.text(std::string(strip(text, side, removed)));
}

Value parts(const std::string& text, const Arguments& arguments, Budget& budget) {
    const auto given = arguments.bind("split", {"sep", "maxsplit"});
    const std::string* separator = optional_text(given[0], "split: the separator");
    const std::int64_t max_count = optional_integer(given[1], "split: maxsplit");
    if (separator != nullptr && separator->empty()) fail("split: the separator is empty");
    budget.read(text.size());
    const std::size_t most = separator != nullptr ? occurrences(text, *separator) + 1 : text.size() / 2 + 1;
    budget.make(most * (2 * sizeof(std::string_view) + sizeof(Value)));  // a list grows by doubling
    const std::vector<std::string_view> found =
        separator == nullptr ? split(text, max_count) : split(text, *separator, max_count);
    Values all;
    all.reserve(found.size());
    for (const std::string_view part : found) all.push_back(budget.text(std::string(part)));
    return budget.list(std::move(all));
}

// startswith and endswith accept a string or a tuple of strings.
template <bool at_end>
Value begins(const std::string& text, const Arguments& arguments, Budget&) {
    const Value* given = arguments.bind(at_end ? "endswith" : "startswith", {"part"})[0];
    const auto holds = [&](const Value& value) {
        const std::string& part = needed_text(&value, "what a text starts or ends with");
        return at_end ? text.ends_with(part) : text.starts_with(part);
    };
    const ListRef* several = given == nullptr ? nullptr : as<ListRef>(*given);
    if (several != nullptr && (*several)->tuple) return std::ranges::any_of((*several)->items, holds);
    return given != nullptr ? holds(*given) : !needed_text(given, "what a text starts or ends with").empty();
}

template <std::string (*change)(std::string_view)>
Value changed(const std::string& text, const Arguments& arguments, Budget& budget) {
    arguments.bind("this method", {});
    budget.make(text.size());
    return budget.text(change(text));
}

Value replaced(const std::string& text, const Arguments& arguments, Budget& budget) {
    const auto given = arguments.bind("replace", {"old", "new", "count"});
    const std::string &old = needed_text(given[0], "replace: the old text"),
                      &with = needed_text(given[1], "replace: the new text");
    const std::int64_t max_count =
        given[2] == nullptr || is_none(*given[2]) ? -1 : integer_of(*given[2], "replace: count");
    budget.read(text.size());
    const std::size_t found = occurrences(text, old);
    const std::size_t count = max_count < 0 ? found : std::min(found, static_cast<std::size_t>(max_count));
    for (std::size_t i = 0; i < count; ++i) budget.make(with.size());
    return budget.text(replace(text, old, with, count));
}

template <class Of>
struct Method {
    const char* name;
    Value (*call)(const Of& value, const Arguments& arguments, Budget& budget);
};
constexpr Method<std::string> text_methods[] = {
    {"strip", stripped<Side::both>},
    {"lstrip", stripped<Side::left>},
    {"rstrip", stripped<Side::right>},
    {"split", parts},
    {"startswith", begins<false>},
    {"endswith", begins<true>},
    {"upper", changed<upper>},
    {"lower", changed<lower>},
    {"title", changed<title>},
    {"capitalize", changed<capitalize>},
    {"replace", replaced},
};

Value get(const Dict& dict, const Arguments& arguments, Budget&) {
    const auto given = arguments.bind("get", {"key", "default"});
    if (given[0] == nullptr) fail("get wants a key");
    const std::string* key = text_in(*given[0]);
    if (const Value* found = key == nullptr ? nullptr : dict.find(*key)) return *found;
    return given[1] != nullptr ? *given[1] : Value(None{});
}

template <bool with_key, bool with_value>
Value entries(const Dict& dict, const Arguments& arguments, Budget& budget) {
    arguments.bind("this method", {});
    Values all;
    all.reserve(dict.entries.size());
    for (const auto& [key, value] : dict.entries)
        all.push_back(!with_key     ? value
                      : !with_value ? budget.text(key)
                                    : budget.list({budget.text(key), value}, true));
    return budget.list(std::move(all));
}

constexpr Method<Dict> dict_methods[] = {
    {"get", get},
    {"items", entries<true, true>},
    {"keys", entries<true, false>},
    {"values", entries<false, true>},
};

template <class Table>
auto found_in(const Table& table, const std::string& name) {
    return std::ranges::find_if(table, [&](const auto& one) { return name == one.name; });
}

}  // namespace

bool has_method(const Value& value, const std::string& name) {
    if (text_in(value) != nullptr) return found_in(text_methods, name) != std::end(text_methods);
    return as<DictRef>(value) != nullptr && found_in(dict_methods, name) != std::end(dict_methods);
}

Value method(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget) {
    budget.step();
    if (const std::string* text = text_in(value)) return found_in(text_methods, name)->call(*text, arguments, budget);
    return found_in(dict_methods, name)->call(**as<DictRef>(value), arguments, budget);
}

}  // namespace vantage::text::jinja
