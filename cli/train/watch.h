// The window of `vantage train --watch`.
#pragma once

#include <functional>
#include <string>

#include "cli/train/probe.h"
#include "vantage/device.h"

namespace vantage::view {
class TrainingFrames;
}

namespace vantage::cli {

/// Runs `train` in a thread of its own, and meanwhile shows the frames that it adds. The window stays when the training
/// is done, and the training goes on when the window is closed. Returns, or throws what `train` threw, when both have
/// ended. Main thread only; the device was opened for windows.
void watch_training(const std::string& output, const Device& device, Probe& probe,
                    const std::function<void(view::TrainingFrames*)>& train);

}  // namespace vantage::cli
