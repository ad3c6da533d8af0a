// Text output of `explain`.
#pragma once

#include "cli/explain/explain_figures.h"
#include "cli/explain/explain_training.h"

namespace vantage::cli {

void print_text(const Explanation& e);
void print_text(const TrainingExplanation& e);

}  // namespace vantage::cli
