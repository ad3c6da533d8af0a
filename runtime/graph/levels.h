// An order of dispatches with few barriers: dispatches of one level are independent; barriers separate levels.
#pragma once

#include <span>
#include <vector>

#include "runtime/graph/schedule.h"

namespace vantage::internal {

/// When a dispatch runs. Those of a node stay together, one level after the other.
struct Level {
    int node = 0;  ///< level at which its node begins: what dispatches are sorted by
    int own = 0;   ///< = node, and one more for each dispatch of the node before it
};

/// The level of each node: higher than all dispatches of earlier nodes (in the given order) that use the same memory if
/// one of the two writes it, and than all earlier segments. Levels are as low as possible; a node that produces more
/// bytes than it reads is scheduled as late as its users allow. Memory of the arena is told apart by
/// `MemoryUse::offset` alone: before placement, that is, by lifetime.
std::vector<Level> levels_of(std::span<const Dispatch> dispatches);

}  // namespace vantage::internal
