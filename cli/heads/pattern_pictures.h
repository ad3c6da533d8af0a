// What `heads` draws: patterns.png, and rollout.png and flow.png where they were asked for; of an encoder–decoder one of each
// for every part, as patterns-encoder.png; of a picture also rollout-cls.png.
#pragma once

#include <string>
#include <vector>

#include "cli/heads/heads_table.h"

namespace vantage::cli {

/// Into a folder that is there. Returns the files' paths.
std::vector<std::string> write_heads_pictures(const HeadsReport& report, const std::string& folder);

}  // namespace vantage::cli
