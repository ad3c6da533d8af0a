// Output of `heads` as a table for the terminal.
#pragma once

#include "cli/heads/heads_table.h"

namespace vantage::cli {

void print_heads_table(const HeadsReport& report);

}  // namespace vantage::cli
