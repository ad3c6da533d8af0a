// Finds the fastest kernel of each call of a model by measuring them: what `vantage tune` does.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/graph/tuning.h"
#include "runtime/measure/measure.h"

namespace vantage {

/// A call of a model's plans.
struct ModelCall {
    std::string key;
    OpCall call;
    std::map<std::int64_t, int> times;  ///< how often in a plan, by the plan's rows
};
/// Adds the calls of a fused graph for a plan of so many rows: new ones behind, others are counted.
void add_calls(std::vector<ModelCall>& calls, const Graph& graph, std::int64_t rows);

struct TuneOptions {
    double seconds = 0.5;   ///< of the device's time for the samples of a kernel
    std::int64_t keys = 0;  ///< rows of a cache that are filled; 0 = all
    /// Operations or bytes from which on the kernel that is usual, and not the op's last one, says what results have to be: the
    /// last one would take too long.
    double max_reference_work = 2e10;
};

/// What was found out about one call.
struct TunedResult {
    TunedCall entry;  ///< for the table
    const Kernel *default_kernel = nullptr, *chosen = nullptr;
    std::map<const Kernel*, Measurement> times;
    std::vector<std::string> notes;  ///< of kernels that were rejected, a line each
};

/// Measures all kernels of the call's op that the device can run, in turns, so that a disturbance meets all of them. A kernel
/// whose results are not those of the op's last kernel within the op's tolerance is not chosen; neither is one that is not
/// faster than the usual one beyond noise (`faster_beyond_noise`). The usual one is what choose_kernel takes without a table.
/// Throws out_of_memory, device_lost and interrupted.
TunedResult tune_call(const Device& device, const OpCall& call, const TuneOptions& options = {});

}  // namespace vantage
