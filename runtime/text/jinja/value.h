// Values of a template, with Python's meaning of truth, equality, order and text; and the budget that making them takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "vantage/error.h"

namespace vantage::text::jinja {

/// What went wrong inside of an expression; who evaluates it adds the template's name and the line.
struct Problem {
    ErrorKind kind;
    std::string what;
};
[[noreturn]] void fail(const std::string& what);       ///< bad_file: the template, or what it was given, is wrong
[[noreturn]] void not_built(const std::string& what);  ///< unsupported: Jinja has it, but it is not built here

struct List;
struct Dict;
struct Namespace;
struct Function;

using Text = std::shared_ptr<const std::string>;
struct Undefined {
    Text name;  ///< of what was looked for; null: a value that nothing names
};
struct None {};
using ListRef = std::shared_ptr<const List>;
using DictRef = std::shared_ptr<const Dict>;

/// Copies are cheap: what is inside of a value never changes, but for a namespace, which belongs to the rendering.
struct Value
    : std::variant<Undefined, None, bool, std::int64_t, double, Text, ListRef, DictRef, Namespace*, const Function*> {
    using variant::variant;
};
using Values = std::vector<Value>;

/// nullptr for a value of another kind.
template <class Kind>
const Kind* as(const Value& value) {
    return std::get_if<Kind>(&value);
}
inline const std::string* text_in(const Value& value) {
    const Text* text = as<Text>(value);
    return text == nullptr ? nullptr : text->get();
}

struct List {
    Values items;
    bool tuple = false;
    int depth = 1;  ///< levels of lists and mappings, this one included
};

/// A mapping from texts, in the order of insertion.
struct Dict {
    std::vector<std::pair<std::string, Value>> entries;
    std::map<std::string, std::size_t, std::less<>> places;
    int depth = 1;

    void set(const std::string& key, Value value);
    const Value* find(std::string_view key) const;
};

struct Namespace {
    std::map<std::string, Value, std::less<>> fields;
};

/// Templates are not trusted: what a rendering may cost. Real ones stay far below.
struct Limits {
    int depth = 600;                            ///< evaluations inside of each other, calls of macros included
    std::size_t steps = 1'000'000;              ///< evaluations; 256 bytes looked at count as one
    std::size_t made = std::size_t{128} << 20;  ///< bytes of all texts and lists on the way
    std::size_t output = std::size_t{16} << 20;
};
inline constexpr int deepest_value = 100;  ///< lists in lists

class Budget {
public:
    explicit Budget(const Limits& limits) : limits_(limits) {}
    const Limits& limits() const { return limits_; }
    void step(std::size_t count = 1);
    void read(std::size_t bytes) { step(bytes / 256); }
    void make(std::size_t bytes);  ///< before they are made

    Value text(std::string text);
    Value list(Values items, bool tuple = false);
    Value dict(Dict dict);

private:
    Limits limits_;
    std::size_t steps_ = 0, made_ = 0;
};

/// "a text", "a list": in messages.
const char* kind_of(const Value& value);
bool is_undefined(const Value& value);
bool is_none(const Value& value);
/// Throws where nothing was found under the name that the template looked for.
void require_defined(const Value& value);

bool truth(const Value& value);
bool equal(const Value& a, const Value& b, Budget& budget);
bool less(const Value& a, const Value& b);  ///< numbers and texts; throws for others
bool contains(const Value& container, const Value& item, Budget& budget);

/// True and false count as 1 and 0, as in Python; nothing for what is no integer.
const std::int64_t* integer_in(const Value& value);
std::int64_t integer_of(const Value& value, const char* what);
bool is_number(const Value& value);
double number_of(const Value& value);  ///< of a number

/// What a loop goes over: elements, characters, keys. Throws for what has none.
Values elements(const Value& value, Budget& budget);
std::size_t length(const Value& value, Budget& budget);
/// value[key] and value.name; Undefined for what is not there.
Value item_of(const Value& value, const Value& key, Budget& budget);
Value attribute_of(const Value& value, const std::string& name);
struct SliceBounds {
    Value begin = None{}, end = None{}, step = None{};
};
Value slice_of(const Value& value, const SliceBounds& bounds, Budget& budget);

std::string str(const Value& value, Budget& budget);   ///< str() of Python
std::string repr(const Value& value, Budget& budget);  ///< repr() of Python
std::string number_text(double number);                ///< repr() of a float

}  // namespace vantage::text::jinja
