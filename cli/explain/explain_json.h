// Output of `explain --json`.
#pragma once

#include "cli/explain/explain_figures.h"
#include "cli/explain/explain_training.h"

namespace vantage::cli {

void print_json(const Explanation& e);
void print_json(const TrainingExplanation& e);

}  // namespace vantage::cli
