// A training run as the commands see it: on its device, in a window if asked for, until it ends.
#pragma once

#include <functional>
#include <optional>

#include "cli/train/train_command.h"
#include "vantage/device.h"

namespace vantage::cli {

/// Opens the device of --device; with --watch one for windows, and sets how long submissions may take then.
Device open_training_device(TrainCommand& command);
/// Trains what `make` returns for the device, and prints the result. With --recover it survives losses of the device:
/// it opens the device again and goes on from the newest checkpoint, or from the beginning. The third loss in a row
/// without a new checkpoint ends the run.
void run_training(TrainCommand& command, std::optional<Device>& device, const Dataset& data,
                  const std::function<Trainer(const Device&)>& make);

}  // namespace vantage::cli
