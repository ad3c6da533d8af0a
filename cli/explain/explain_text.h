// Text output of `explain`.
#pragma once

#include "cli/explain/explain_figures.h"

namespace vantage::cli {

void print_text(const Explanation& e);

}  // namespace vantage::cli
