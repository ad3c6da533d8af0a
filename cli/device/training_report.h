// vantage conform --training: a recorded training run, repeated.
#pragma once

#include <string>

#include "vantage/device.h"

namespace vantage::cli {

/// Repeats the run in `folder` and prints a line for each step, and the worst errors at the end; or one JSON object.
/// Returns whether all are within their tolerances.
bool repeat_training(const Device& device, const std::string& folder, bool json);

}  // namespace vantage::cli
