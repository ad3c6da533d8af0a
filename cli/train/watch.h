// The window of `vantage train --watch`.
#pragma once

#include <functional>
#include <string>

#include "cli/train/probe.h"
#include "vantage/device.h"

namespace vantage::view {
class TrainingSnapshots;
}

namespace vantage::cli {

/// Runs `train` in a thread of its own and shows the snapshots that it adds. The window stays open after the training,
/// and the training goes on after the window is closed. Returns when both have ended; throws what `train` throws. Main
/// thread only. The device must have been opened for windows.
void watch_training(const std::string& output, const Device& device, Probe& probe,
                    const std::function<void(view::TrainingSnapshots*)>& train);

}  // namespace vantage::cli
