// Tests: `value is name`.

#include "runtime/base/json.h"
#include "runtime/text/jinja/functions.h"

namespace vantage::text::jinja {

namespace {

bool is_iterable(const Value& value) {
    return text_in(value) != nullptr || as<ListRef>(value) != nullptr || as<DictRef>(value) != nullptr ||
           is_undefined(value);
}
bool is_odd(const Value& value) { return integer_of(value, "what is odd or even") % 2 != 0; }

struct Property {
    const char* name;
    bool (*holds)(const Value& value);
};
constexpr Property properties[] = {
    {"defined", [](const Value& v) { return !is_undefined(v); }},
    {"undefined", is_undefined},
    {"none", is_none},
    {"string", [](const Value& v) { return text_in(v) != nullptr; }},
    {"mapping", [](const Value& v) { return as<DictRef>(v) != nullptr; }},
    {"iterable", is_iterable},
    {"sequence", is_iterable},
    {"number", is_number},
    {"integer", [](const Value& v) { return as<std::int64_t>(v) != nullptr; }},
    {"float", [](const Value& v) { return as<double>(v) != nullptr; }},
    {"boolean", [](const Value& v) { return as<bool>(v) != nullptr; }},
    {"true", [](const Value& v) { return as<bool>(v) != nullptr && *as<bool>(v); }},
    {"false", [](const Value& v) { return as<bool>(v) != nullptr && !*as<bool>(v); }},
    {"callable", [](const Value& v) { return as<const Function*>(v) != nullptr; }},
    {"odd", is_odd},
    {"even", [](const Value& v) { return !is_odd(v); }},
};

bool divisible(const Value& value, const Value& by) {
    const std::int64_t number = integer_of(value, "what is divided"), divisor = integer_of(by, "the divisor");
    if (divisor == 0) fail("division by zero");
    return divisor == -1 || number % divisor == 0;
}

struct Relation {
    const char* name;
    bool (*holds)(const Value& value, const Value& other, Budget& budget);
};
constexpr Relation relations[] = {
    {"equalto", equal},
    {"eq", equal},
    {"==", equal},
    {"ne", [](const Value& a, const Value& b, Budget& budget) { return !equal(a, b, budget); }},
    {"!=", [](const Value& a, const Value& b, Budget& budget) { return !equal(a, b, budget); }},
    {"lt", [](const Value& a, const Value& b, Budget&) { return less(a, b); }},
    {"lessthan", [](const Value& a, const Value& b, Budget&) { return less(a, b); }},
    {"gt", [](const Value& a, const Value& b, Budget&) { return less(b, a); }},
    {"greaterthan", [](const Value& a, const Value& b, Budget&) { return less(b, a); }},
    {"le", [](const Value& a, const Value& b, Budget& budget) { return equal(a, b, budget) || less(a, b); }},
    {"ge", [](const Value& a, const Value& b, Budget& budget) { return equal(a, b, budget) || less(b, a); }},
    {"in", [](const Value& a, const Value& b, Budget& budget) { return contains(b, a, budget); }},
    {"divisibleby", [](const Value& a, const Value& b, Budget&) { return divisible(a, b); }},
};

}  // namespace

bool tested(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget) {
    for (const Property& property : properties) {
        if (name != property.name) continue;
        arguments.bind(name, {});
        return property.holds(value);
    }
    for (const Relation& relation : relations) {
        if (name != relation.name) continue;
        const Value* other = arguments.bind(name, {"other"})[0];
        if (other == nullptr) fail("the test {} needs a value to compare with", in_quotes(name));
        return relation.holds(value, *other, budget);
    }
    not_supported("the test " + in_quotes(name));
}

}  // namespace vantage::text::jinja
