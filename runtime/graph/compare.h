// Got against want, element by element, with a message that says which, by how much and what was allowed.
#pragma once

#include <string>

#include "runtime/base/internal.h"
#include "vantage/op.h"

namespace vantage::internal {

struct Comparison {
    bool passed = true;
    double worst = 0;    ///< |got - want| where it is largest by what is allowed there
    double allowed = 0;  ///< what is allowed at that element
    std::int64_t wrong = 0;
    std::string message;  ///< empty when passed
};

/// Of the finite elements; 0 when there are none.
double root_mean_square(const HostTensor& tensor);

/// Integers and infinities must be equal; NaN is always an error. `name` is the name of the result in the message.
/// `attrs` are those of the call: f32 results of operands that may have been rounded to f16 (f16_operands) are allowed
/// what f16 results are, and those of rows that may have been rounded to 8 bits (int8_operands) have a tolerance of
/// their own.
Comparison compare(const std::string& name, const HostTensor& got, const HostTensor& want, const Tolerances& tolerances,
                   const Attrs& attrs = {});

}  // namespace vantage::internal
