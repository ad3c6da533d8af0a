// Elements by an index of any integer type, and counts as the 32 bits that kernels take.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
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

/// The name of an enumerator in a table by number; "" for a value that is none.
template <class Enum, std::size_t count>
constexpr const char* name_in(const char* const (&names)[count], Enum value) {
    const auto i = static_cast<std::size_t>(value);
    return i < count ? names[i] : "";
}

/// A count or an index as a kernel takes it. Debug builds check the range.
template <class Integer>
    requires std::is_integral_v<Integer>
constexpr std::uint32_t u32(Integer value) {
    assert(std::in_range<std::uint32_t>(value));
    return static_cast<std::uint32_t>(value);
}

}  // namespace vantage::internal
