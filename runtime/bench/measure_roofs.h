// Measures the roofs with the kernels of shaders/roofs: the best of several samples that are long enough to be timed.
#pragma once

#include <functional>
#include <string>

#include "runtime/base/internal.h"
#include "vantage/device.h"

namespace vantage::internal {

struct Roofs;

/// Receives what is being measured.
using RoofProgress = std::function<void(const std::string& what)>;
/// Takes a few seconds. Throws interrupted after Ctrl-C, out_of_memory, device_lost.
Roofs measure_roofs(const Device& device, const RoofProgress& progress = {});

}  // namespace vantage::internal
