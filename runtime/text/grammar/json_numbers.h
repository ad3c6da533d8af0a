// Numbers of JSON between bounds, by their decimal digits.
#pragma once

#include <optional>
#include <string>

#include "runtime/text/grammar/rules.h"
#include "runtime/text/jinja/print.h"

namespace vantage::text::grammar {

struct NumberBound {
    bool negative;
    std::string whole, fraction;  ///< digits; `whole` is "0" or does not begin with 0, `fraction` does not end with 0
    bool included;
};
/// The digits of an integer, or those that tell a finite double from others.
NumberBound number_bound(const jinja::OrderedJson& number, bool included);
/// Of two bounds, the one that leaves fewer numbers above it, or below it.
NumberBound higher_bound(const NumberBound& a, const NumberBound& b);
NumberBound lower_bound(const NumberBound& a, const NumberBound& b);

/// Any number, with at most 16 digits before and after the point, and 3 of an exponent.
Part json_number(RuleBuilder& rules);
/// Any integer of at most 16 digits.
Part json_integer(RuleBuilder& rules);
/// Those between bounds, without an exponent; 0 has no minus.
Part json_number_between(RuleBuilder& rules, const std::optional<NumberBound>& least,
                         const std::optional<NumberBound>& most);
Part json_integer_between(RuleBuilder& rules, const std::optional<NumberBound>& least,
                          const std::optional<NumberBound>& most);

}  // namespace vantage::text::grammar
