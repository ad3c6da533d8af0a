// Where intermediates lie in one arena: two of them share memory when they are never alive together.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// Something that needs memory from dispatch `first` to dispatch `last`, both included.
struct Lifetime {
    std::uint64_t bytes = 0;
    int first = 0, last = 0;
    std::uint64_t offset = 0;  ///< result
};

/// Gives every lifetime an offset, a multiple of `alignment`, with `gap` free bytes around it; returns the arena's
/// size. Largest first, each at the lowest place where no lifetime that overlaps it in time is in the way.
std::uint64_t place(std::span<Lifetime> lifetimes, std::uint64_t alignment, std::uint64_t gap = 0);

/// The most bytes that are alive at once, each lifetime rounded up to `alignment`: what no arena can do without.
std::uint64_t largest_live_set(std::span<const Lifetime> lifetimes, std::uint64_t alignment);

}  // namespace vantage::internal
