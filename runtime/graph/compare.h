// Got against want, element by element, with a message that says which, by how much and what was allowed.
#pragma once

#include <string>
#include <vector>

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

/// An element that is wrong.
struct WrongElement {
    std::int64_t index;  ///< in the flat tensor
    double got, want, allowed;
};

/// "[3,1,7]", the place of an element in a tensor.
std::string position_text(const Shape& shape, std::int64_t index);

/// Of the finite elements; 0 when there are none.
double root_mean_square(const HostTensor& tensor);

/// The tolerances of an op for values of a model, which may be large: that of f32 is multiplied by the root mean square
/// of the wanted tensor, if it is above 1. Sums of large terms that cancel are rounded by the size of the terms.
Tolerances tolerances_of_size(Tolerances tolerances, const HostTensor& want);

/// Integers and infinities must be equal; NaN is always an error. `name` is the name of the result in the message.
/// `attrs` are those of the call: f32 results of operands that may have been rounded to f16 (f16_operands) are allowed
/// what f16 results are, and those of rows that may have been rounded to 8 bits (int8_operands) have a tolerance of
/// their own.
Comparison compare(const std::string& name, const HostTensor& got, const HostTensor& want, const Tolerances& tolerances,
                   const Attrs& attrs = {});
/// The first `max_count` elements that `compare` counts as wrong.
std::vector<WrongElement> wrong_elements(const HostTensor& got, const HostTensor& want, const Tolerances& tolerances,
                                         const Attrs& attrs, std::size_t max_count);

}  // namespace vantage::internal
