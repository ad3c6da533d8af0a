// Output of `heads` as CSV and JSON.
#pragma once

#include "cli/heads/heads_table.h"

namespace vantage::cli {

void print_heads_csv(const HeadsReport& report);
void print_heads_json(const HeadsReport& report);

}  // namespace vantage::cli
