// The time of a run by op and kernel.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/bench/roofs.h"
#include "vantage/plan.h"

namespace vantage::internal {

struct OpTime {
    std::string op, kernel;  ///< "matmul", "tiled"; "grids" for dispatches of the runtime itself
    std::int64_t dispatches = 0;
    double seconds = 0, flops = 0, bytes_read = 0, bytes_written = 0;
    double bytes() const { return bytes_read + bytes_written; }
};

/// In descending order of time.
std::vector<OpTime> time_by_op(std::span<const DispatchTiming> timings);

/// The table of --profile -: dispatches, milliseconds, share, mean, GFLOP/s and GB/s. With roofs also the percentage of
/// the roof that bounds the op: the minimum time for f32 arithmetic or memory, divided by the measured time. Operations
/// and bytes are those of OpDef::cost, the necessary ones; a kernel may do more.
std::string profile_table(std::span<const OpTime> ops, const std::optional<Roofs>& roofs);

}  // namespace vantage::internal
