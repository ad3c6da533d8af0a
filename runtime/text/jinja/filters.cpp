#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "runtime/base/at.h"
#include "runtime/base/json.h"
#include "runtime/text/jinja/functions.h"
#include "runtime/text/jinja/print.h"
#include "runtime/text/jinja/strings.h"

namespace vantage::text::jinja {

std::vector<const Value*> Arguments::bind(const std::string& callee, std::initializer_list<const char*> names) const {
    if (by_place.size() > names.size())
        fail("{}: {} arguments, wanted at most {}", callee, by_place.size(), names.size());
    std::vector<const Value*> bound(names.size());
    for (std::size_t i = 0; i < by_place.size(); ++i) bound[i] = &by_place[i];
    for (const auto& [name, value] : by_name) {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end()) not_supported(callee + " with " + in_quotes(name));
        at(bound, found - names.begin()) = &value;
    }
    return bound;
}

Arguments rest_of(const Arguments& arguments, std::size_t first) {
    const Values& all = arguments.by_place;
    return {{all.begin() + static_cast<std::ptrdiff_t>(std::min(first, all.size())), all.end()}, arguments.by_name};
}

namespace {

// ---- one value ------------------------------------------------------------------------------------------------------

Value trim(const Value& input, const Arguments& arguments, Budget& budget) {
    const Value* removed = arguments.bind("trim", {"chars"})[0];
    const std::string text = str(input, budget);
    return budget.text(std::string(strip(text, Side::both, optional_text(removed, "trim: chars"))));
}

template <std::string (*change)(std::string_view)>
Value changed(const Value& input, const Arguments& arguments, Budget& budget) {
    arguments.bind("this filter", {});
    return budget.text(change(str(input, budget)));
}

Value as_text(const Value& input, const Arguments& arguments, Budget& budget) {
    arguments.bind("this filter", {});
    return budget.text(str(input, budget));
}

Value replaced(const Value& input, const Arguments& arguments, Budget& budget) {
    return method("replace", budget.text(str(input, budget)), arguments, budget);
}

Value count(const Value& input, const Arguments& arguments, Budget& budget) {
    arguments.bind("length", {});
    return static_cast<std::int64_t>(length(input, budget));
}

Value default_filter(const Value& input, const Arguments& arguments, Budget&) {
    const auto given = arguments.bind("default", {"default_value", "boolean"});
    const bool boolean = given[1] != nullptr && truth(*given[1]);
    if (!is_undefined(input) && (!boolean || truth(input))) return input;
    return given[0] != nullptr ? *given[0] : Value(std::make_shared<const std::string>());
}

// Parses a number as Python's int() and float() do.
std::optional<double> real_in(const Value& value) {
    if (is_number(value)) return number_of(value);
    const std::string* text = text_in(value);
    const std::string bare(text == nullptr ? "" : strip(*text, Side::both));
    if (bare.empty() || bare.find_first_not_of("+-.0123456789eE") != std::string::npos) return std::nullopt;
    char* end = nullptr;
    const double number = std::strtod(bare.c_str(), &end);
    return *end == '\0' ? std::optional(number) : std::nullopt;
}
std::optional<std::int64_t> integer_in_text(const std::string& text) {
    std::string_view bare = strip(text, Side::both);
    if (bare.size() > 1 && bare[0] == '+' && bare[1] != '-') bare.remove_prefix(1);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(bare.data(), bare.data() + bare.size(), number);
    return error == std::errc() && end == bare.data() + bare.size() ? std::optional(number) : std::nullopt;
}

Value integer(const Value& input, const Arguments& arguments, Budget&) {
    const Value* given = arguments.bind("int", {"default"})[0];
    require_defined(input);
    if (const std::int64_t* number = integer_in(input)) return *number;
    if (const std::string* text = text_in(input))
        if (const auto number = integer_in_text(*text)) return *number;
    if (const std::optional<double> number = real_in(input); number && std::abs(*number) < 0x1p63)
        return static_cast<std::int64_t>(*number);
    return given == nullptr ? Value(std::int64_t{0}) : *given;
}

Value real(const Value& input, const Arguments& arguments, Budget&) {
    const Value* given = arguments.bind("float", {"default"})[0];
    require_defined(input);
    if (const std::optional<double> number = real_in(input)) return *number;
    return given == nullptr ? Value(0.0) : *given;
}

Value json(const Value& input, const Arguments& arguments, Budget& budget) {
    const auto given = arguments.bind("tojson", {"ensure_ascii", "indent", "separators", "sort_keys"});
    JsonStyle style;
    style.ascii = given[0] != nullptr && truth(*given[0]);
    if (given[1] != nullptr && !is_none(*given[1])) style.indent = integer_of(*given[1], "tojson: indent");
    if (style.indent) style.item_separator = ",";  // Python's default
    style.sorted = given[3] != nullptr && truth(*given[3]);
    if (given[2] != nullptr && !is_none(*given[2])) {
        const Values both = elements(*given[2], budget);
        if (both.size() != 2) fail("tojson: separators must be two strings");
        style.item_separator = text_of(both[0], "tojson: a separator");
        style.key_separator = text_of(both[1], "tojson: a separator");
    }
    return budget.text(to_json(input, style, budget));
}

Value items(const Value& input, const Arguments& arguments, Budget& budget) {
    if (is_undefined(input)) return budget.list({});
    if (as<DictRef>(input) == nullptr) fail("items of {}, wanted a mapping", kind_of(input));
    return method("items", input, arguments, budget);
}

// ---- many values ----------------------------------------------------------------------------------------------------

// An attribute path of filters: a.b.0
Value deep_attribute(Value value, const Value& path, Budget& budget) {
    const std::string* text = text_in(path);
    if (text == nullptr) return item_of(value, path, budget);
    for (const std::string_view name : split(*text, ".", -1)) {
        const std::string key(name);
        const bool digits = !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
        const auto place = digits ? integer_in_text(key) : std::nullopt;
        value = item_of(value, place ? Value(*place) : budget.text(key), budget);
    }
    return value;
}

Value list(const Value& input, const Arguments& arguments, Budget& budget) {
    arguments.bind("list", {});
    return budget.list(elements(input, budget));
}

template <bool at_end>
Value end_of(const Value& input, const Arguments& arguments, Budget& budget) {
    arguments.bind(at_end ? "last" : "first", {});
    const Values all = elements(input, budget);
    if (all.empty()) return {};
    return at_end ? all.back() : all.front();
}

Value reversed(const Value& input, const Arguments& arguments, Budget& budget) {
    arguments.bind("reverse", {});
    return slice_of(text_in(input) != nullptr ? input : budget.list(elements(input, budget)),
                    {.step = std::int64_t{-1}}, budget);
}

Value join(const Value& input, const Arguments& arguments, Budget& budget) {
    const auto given = arguments.bind("join", {"d", "attribute"});
    const std::string between = given[0] == nullptr ? "" : str(*given[0], budget);
    std::string out;
    bool begun = false;
    for (const Value& item : elements(input, budget)) {
        if (std::exchange(begun, true)) out += between;
        budget.make(between.size());
        out += str(given[1] == nullptr ? item : deep_attribute(item, *given[1], budget), budget);
    }
    return budget.text(std::move(out));
}

/// map(attribute='a.b', default=…)
Value attributes(const Value& input, const Arguments& arguments, Budget& budget) {
    const auto given = arguments.bind("map", {"attribute", "default"});
    if (given[0] == nullptr) fail("map needs a filter or an attribute");
    Values out = elements(input, budget);
    for (Value& item : out) {
        budget.step();
        item = deep_attribute(item, *given[0], budget);
        if (is_undefined(item) && given[1] != nullptr) item = *given[1];
    }
    return budget.list(std::move(out));
}

Value map(const Value& input, const Arguments& arguments, Budget& budget) {
    if (arguments.by_place.empty()) return attributes(input, arguments, budget);
    const std::string& filter = text_of(arguments.by_place[0], "map: the filter");
    if (filter == "map") not_supported("map inside of map");
    Values out = elements(input, budget);
    for (Value& item : out) {
        budget.step();
        item = filtered(filter, item, rest_of(arguments, 1), budget);
    }
    return budget.list(std::move(out));
}

// select, reject, selectattr, rejectattr: by the test at argument `place`, or by truth if there is none.
template <bool keep, std::size_t place>
Value selected(const Value& input, const Arguments& arguments, Budget& budget) {
    if (place == 1 && arguments.by_place.empty()) fail("the attribute to select by is missing");
    const bool by_truth = arguments.by_place.size() <= place;
    Values out;
    for (const Value& item : elements(input, budget)) {
        budget.step();
        const Value looked_at = place == 1 ? deep_attribute(item, arguments.by_place[0], budget) : item;
        const bool holds = by_truth ? truth(looked_at)
                                    : tested(text_of(arguments.by_place[place], "the test to select by"), looked_at,
                                             rest_of(arguments, place + 1), budget);
        if (holds == keep) out.push_back(item);
    }
    return budget.list(std::move(out));
}

struct Filter {
    const char* name;
    Value (*apply)(const Value& input, const Arguments& arguments, Budget& budget);
};
constexpr Filter filters[] = {
    {"trim", trim},
    {"upper", changed<upper>},
    {"lower", changed<lower>},
    {"title", changed<title_words>},
    {"capitalize", changed<capitalize>},
    {"string", as_text},
    {"safe", as_text},
    {"replace", replaced},
    {"length", count},
    {"count", count},
    {"default", default_filter},
    {"d", default_filter},
    {"int", integer},
    {"float", real},
    {"tojson", json},
    {"items", items},
    {"list", list},
    {"first", end_of<false>},
    {"last", end_of<true>},
    {"reverse", reversed},
    {"join", join},
    {"map", map},
    {"select", selected<true, 0>},
    {"reject", selected<false, 0>},
    {"selectattr", selected<true, 1>},
    {"rejectattr", selected<false, 1>},
};

}  // namespace

Value filtered(const std::string& name, const Value& input, const Arguments& arguments, Budget& budget) {
    const auto found = std::ranges::find(filters, name, &Filter::name);
    if (found == std::end(filters)) not_supported("the filter " + in_quotes(name));
    return found->apply(input, arguments, budget);
}

}  // namespace vantage::text::jinja
