// Functions that templates call by name: filters, tests, methods of values. All are Jinja's or Python's.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "runtime/text/jinja/value.h"

namespace vantage::text::jinja {

struct Arguments {
    Values by_place = {};
    std::vector<std::pair<std::string, Value>> by_name = {};

    /// The arguments in the order of `names`, nullptr for missing ones. Throws for surplus or unknown arguments.
    std::vector<const Value*> bind(const std::string& callee, std::initializer_list<const char*> names) const;
};

/// input | name(…). Throws unsupported for an unknown filter.
Value filtered(const std::string& name, const Value& input, const Arguments& arguments, Budget& budget);
/// value is name(…).
bool tested(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget);
/// A filter or test that is given by arguments, from `first` on: select('equalto', 3).
Arguments rest_of(const Arguments& arguments, std::size_t first);

/// The text of an argument, nullptr if it is missing or none. Throws for another type.
const std::string* optional_text(const Value* value, const char* what);

/// value.name(…): always the method, even if the mapping `value` has a key of this name.
bool has_method(const Value& value, const std::string& name);
Value method(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget);

/// Python's range().
Value range(const Arguments& arguments, Budget& budget);
/// Python's binary operators; `sign` is one of + - * / // % ~.
Value calculated(const std::string& sign, const Value& a, const Value& b, Budget& budget);
Value negated(const Value& value);

}  // namespace vantage::text::jinja
