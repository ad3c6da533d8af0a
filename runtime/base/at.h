// Elements by an index of any integer type.
#pragma once

#include <cassert>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// `values[index]` of a vector, span, array or string, for an index of any integer or enumeration type. Debug builds
/// check the range.
template <class Values, class Index>
    requires(std::is_integral_v<Index> || std::is_enum_v<Index>)
constexpr decltype(auto) at(Values&& values, Index index) {
    const auto i = static_cast<std::size_t>(index);  // a negative index becomes larger than any size
    assert(i < std::size(values));
    return std::forward<Values>(values)[i];
}

}  // namespace vantage::internal
