// Values of a template, with Python's truth, equality, order and text; and the budget for creating them.
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

#include "runtime/base/format.h"
#include "vantage/error.h"

namespace vantage::text::jinja {

/// An error inside of an expression. The evaluator adds the template's name and the line.
struct Problem {
    ErrorKind kind;
    std::string what;
};
/// Throws bad_file: the template or its input is wrong.
[[noreturn]] void fail(const std::string& what);
template <class... Arguments>
[[noreturn]] void fail(FormatText<std::type_identity_t<Arguments>...> text, const Arguments&... arguments) {
    fail(format(text, arguments...));
}
/// Throws unsupported: a part of Jinja that Vantage does not support.
[[noreturn]] void not_supported(const std::string& what);

struct List;
struct Dict;
struct Namespace;
struct Function;

using Text = std::shared_ptr<const std::string>;
struct Undefined {
    /// The name that was looked up; null for a value without a name.
    Text name;
};
struct None {};
using ListRef = std::shared_ptr<const List>;
using DictRef = std::shared_ptr<const Dict>;

/// Copies are cheap: contents are immutable, except those of namespaces, which the interpreter owns.
struct Value
    : std::variant<Undefined, None, bool, std::int64_t, double, Text, ListRef, DictRef, Namespace*, const Function*> {
    using variant::variant;
};
using Values = std::vector<Value>;

/// nullptr for another type.
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
    int depth = 1;  ///< levels of lists and mappings, including this one
};

/// A mapping with string keys, in insertion order.
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

/// Limits for a rendering, because templates are not trusted. Real templates stay far below.
struct Limits {
    int depth = 600;                            ///< nested evaluations, including calls of macros
    std::size_t steps = 1'000'000;              ///< evaluations; reading 256 bytes counts as one
    std::size_t made = std::size_t{128} << 20;  ///< total bytes of created strings, lists and mappings
    std::size_t output = std::size_t{16} << 20;
};
inline constexpr int deepest_value = 100;  ///< nested lists and mappings

class Budget {
public:
    explicit Budget(const Limits& limits) : limits_(limits) {}
    const Limits& limits() const { return limits_; }
    void step(std::size_t count = 1);
    void read(std::size_t bytes) { step(bytes / 256); }
    void make(std::size_t bytes);  ///< call before creating them

    Value text(std::string text);
    Value list(Values items, bool tuple = false);
    Value dict(Dict dict);

private:
    Limits limits_;
    std::size_t steps_ = 0, made_ = 0;
};

/// The type for messages: "a text", "a list".
const char* kind_of(const Value& value);
bool is_undefined(const Value& value);
bool is_none(const Value& value);
/// Throws if the value is undefined, with the name that was looked up.
void require_defined(const Value& value);

bool truth(const Value& value);
bool equal(const Value& a, const Value& b, Budget& budget);
bool less(const Value& a, const Value& b);  ///< numbers and strings; throws for other types
bool contains(const Value& container, const Value& item, Budget& budget);

/// Like Python, true and false are 1 and 0. Nothing for other types.
const std::int64_t* integer_in(const Value& value);
std::int64_t integer_of(const Value& value, const char* what);
/// Throws "WHAT is a list, wanted a text" for another type.
const std::string& text_of(const Value& value, const char* what);
bool is_number(const Value& value);
double number_of(const Value& value);  ///< must be a number

/// The items that a loop iterates over: elements, characters, keys. Throws for other types.
Values elements(const Value& value, Budget& budget);
std::size_t length(const Value& value, Budget& budget);
/// value[key] and value.name; Undefined if there is none.
Value item_of(const Value& value, const Value& key, Budget& budget);
/// An undefined value that remembers what was looked up.
Value missing(const std::string& name, Budget& budget);
Value attribute_of(const Value& value, const std::string& name, Budget& budget);
struct SliceBounds {
    Value begin = None{}, end = None{}, step = None{};
};
Value slice_of(const Value& value, const SliceBounds& bounds, Budget& budget);

std::string str(const Value& value, Budget& budget);   ///< Python's str()
std::string repr(const Value& value, Budget& budget);  ///< Python's repr()
std::string number_text(double number);                ///< Python's repr() of a float

}  // namespace vantage::text::jinja
