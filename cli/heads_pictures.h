// What `heads` draws: patterns.png, and rollout.png and flow.png where they were asked for.
#pragma once

#include <string>
#include <vector>

#include "heads_table.h"

namespace vantage::cli {

/// Makes the folder. Returns the files' paths.
std::vector<std::string> write_heads_pictures(const HeadsReport& report, const std::string& folder);

}  // namespace vantage::cli
