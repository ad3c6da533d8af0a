// The file of `conform --report`: what a maintainer needs to know of a machine, and nothing of its user.
#pragma once

#include "runtime/base/json.h"
#include "vantage/device.h"

namespace vantage::cli {

/// Build, system, device, switches and tuning, around the runs of `conform`. Commands to run cases again are left out,
/// because they may name folders; of variables that hold paths only the names are given.
Json machine_report(const Device& device, Json conform);

}  // namespace vantage::cli
