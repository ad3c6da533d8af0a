// Output of `explain --json`.
#pragma once

#include "cli/explain/explain_figures.h"

namespace vantage::cli {

void print_json(const Explanation& e);

}  // namespace vantage::cli
