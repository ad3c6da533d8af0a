// Where the time of a run went: its dispatches added up by op and kernel.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/bench/roofs.h"
#include "vantage/plan.h"

namespace vantage {

struct OpTime {
    std::string op, kernel;  ///< "matmul", "tiled"; "grids" for what the runtime itself dispatches
    std::int64_t dispatches = 0;
    double seconds = 0, flops = 0, bytes_read = 0, bytes_written = 0;
    double bytes() const { return bytes_read + bytes_written; }
};

/// What takes longest first.
std::vector<OpTime> time_by_op(std::span<const DispatchTiming> timings);

/// The table that --profile - prints: dispatches, milliseconds, share of the whole, mean, GFLOP/s and GB/s; with roofs the
/// percentage of the one that bounds the op: the time that arithmetic in f32 or memory would take at least, by the time it
/// took. Operations and bytes are those of OpDef::cost: what has to be done, not what a kernel does beyond it.
std::string profile_table(std::span<const OpTime> ops, const std::optional<Roofs>& roofs);

}  // namespace vantage
