// Options that `vantage train` and `vantage finetune` share.
#pragma once

#include "cli/train/train_command.h"

namespace CLI {
class App;
}

namespace vantage::cli {

void add_data_options(CLI::App& command, TrainCommand& c);
/// The steps, the optimiser and what is computed. Sets defaults that differ between the two commands.
void add_training_options(CLI::App& command, TrainCommand& c);
/// Evaluations, samples, checkpoints and windows.
void add_run_options(CLI::App& command, TrainCommand& c);

}  // namespace vantage::cli
