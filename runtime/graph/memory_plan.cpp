#include "runtime/graph/memory_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include "runtime/base/interrupt.h"

namespace vantage::internal {

std::uint64_t place(std::span<Lifetime> lifetimes, std::uint64_t alignment, std::uint64_t gap) {
    std::vector<std::size_t> order(lifetimes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return lifetimes[i].bytes; });
    const auto round_up = [&](std::uint64_t value) { return (value + alignment - 1) / alignment * alignment; };

    struct Placed {
        std::uint64_t offset, end;  // with the gap behind it, rounded up
        int first, last;
    };
    std::vector<Placed> placed;  // sorted by offset
    std::uint64_t end = 0;
    for (std::size_t i : order) {
        throw_if_interrupted();  // the time is quadratic
        Lifetime& wanted = lifetimes[i];
        std::uint64_t offset = round_up(gap);
        for (const Placed& other : placed) {
            if (other.last < wanted.first || wanted.last < other.first) continue;
            if (offset + wanted.bytes + gap <= other.offset) break;  // fits into the hole in front of it
            offset = std::max(offset, other.end);
        }
        wanted.offset = offset;
        const std::uint64_t behind = round_up(offset + wanted.bytes + gap);
        end = std::max(end, behind);
        placed.insert(std::ranges::upper_bound(placed, offset, {}, &Placed::offset),
                      {offset, behind, wanted.first, wanted.last});
    }
    return end;
}

std::uint64_t largest_live_set(std::span<const Lifetime> lifetimes, std::uint64_t alignment) {
    std::map<int, std::int64_t> change;  // by time: bytes that begin to live less those that ended before
    for (const Lifetime& one : lifetimes) {
        const auto bytes = static_cast<std::int64_t>((one.bytes + alignment - 1) / alignment * alignment);
        change[one.first] += bytes;
        change[one.last + 1] -= bytes;
    }
    std::int64_t now = 0, peak = 0;
    for (const auto& [time, bytes] : change) peak = std::max(peak, now += bytes);
    return static_cast<std::uint64_t>(peak);
}

}  // namespace vantage::internal
