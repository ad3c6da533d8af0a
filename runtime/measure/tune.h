// Finds the fastest kernel of a call by measurement, for `vantage tune`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/graph/tuning.h"
#include "runtime/measure/measure.h"

namespace vantage::internal {

/// A call in the plans of a model.
struct ModelCall {
    std::string key;
    OpCall call;
    std::map<std::int64_t, int> times;  ///< occurrences in a plan, by the plan's rows
};
/// Adds the calls of a fused graph with `rows` rows. New calls are appended, known ones are counted.
void add_calls(std::vector<ModelCall>& calls, const Graph& graph, std::int64_t rows);

struct TuneOptions {
    double seconds = 0.5;   ///< device time per kernel for samples
    std::int64_t keys = 0;  ///< filled rows of the cache; 0: all
    /// Operations or bytes above which the default kernel is the reference for results, not the op's last kernel, which
    /// would take too long.
    double max_reference_work = 2e10;
};

/// The result for one call.
struct TunedResult {
    TunedCall entry;  ///< for the table
    const Kernel *default_kernel = nullptr, *chosen = nullptr;
    std::map<const Kernel*, Measurement> times;
    std::vector<std::string> notes;  ///< one line for each kernel that failed or was wrong
};

/// Measures all eligible kernels of a call, in turns, so that a disturbance affects all of them. The default kernel is
/// that of choose_kernel without a table. Another kernel is chosen only if its results match those of the op's last
/// kernel within the tolerance of the op, and if it is faster than the default beyond noise (`faster_beyond_noise`).
/// Throws out_of_memory, device_lost and interrupted.
TunedResult tune_call(const Device& device, const OpCall& call, const TuneOptions& options = {});

}  // namespace vantage::internal
