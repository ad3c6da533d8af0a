// An order of dispatches with few barriers: what may run side by side has the same level, and barriers stand between levels.
#pragma once

#include <span>
#include <vector>

#include "runtime/graph/schedule.h"

namespace vantage {

/// When a dispatch runs. Those of a node stay together, one level after the other.
struct Level {
    int node = 0;  ///< level at which its node begins: what dispatches are sorted by
    int own = 0;   ///< = node, and one more for each dispatch of the node before it
};

/// Levels of nodes above all that earlier ones (in the order given) do with the same memory when one of the two writes it, and
/// above all of earlier segments. As early as that allows; what makes more memory than it reads, as late as its users allow.
/// Memory of the arena is told apart by `MemoryUse::offset` alone: before placement, that is, by lifetime.
std::vector<Level> levels_of(std::span<const Dispatch> dispatches);

}  // namespace vantage
