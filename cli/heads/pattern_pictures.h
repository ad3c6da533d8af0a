// Pictures of `heads --png`.
#pragma once

#include <string>
#include <vector>

#include "cli/heads/heads_table.h"

namespace vantage::cli {

/// Writes the pictures of --png into an existing folder and returns the paths: patterns.png, and with --rollout and
/// --flow rollout.png and flow.png. Encoder–decoders get one of each per part, such as patterns-encoder.png. Images
/// also get rollout-cls.png.
std::vector<std::string> write_heads_pictures(const HeadsReport& report, const std::string& folder);

}  // namespace vantage::cli
