// Repeats a recorded training run on a device and compares each step.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/train/recorded_run.h"
#include "vantage/plan.h"

namespace vantage::internal {

struct StepComparison {
    std::int64_t step = 0;
    double loss = 0, loss_error = 0, norm = 0, norm_error = 0;  ///< of the norm relative
    bool passed = false;
};
/// The element whose error is the largest share of what is allowed.
struct WorstElement {
    double error = 0, share = 0;
    std::string tensor;
};
struct TrainingComparison {
    std::vector<StepComparison> steps;
    WorstElement gradient, parameter;  ///< of the first step's gradients; of the parameters after the last one
    /// Of the parameters after the first step, where the run has them and more than one step.
    std::optional<WorstElement> first_parameter = {};
    std::int64_t not_compared = 0;  ///< gradients that the run did not record under a known name
    bool passed = false;
};
/// Throws as Plan, and bad_file where the recorded files do not fit. `progress` is called after each step; `head_rows`
/// and `f16` as TrainingSettings has them.
TrainingComparison compare_with_recorded(const Device& device, const RecordedRun& run,
                                         const std::function<void(const StepComparison&)>& progress = {},
                                         std::int64_t head_rows = 0, bool f16 = false);

}  // namespace vantage::internal
