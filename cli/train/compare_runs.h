// vantage train --compare: the curves of several runs in one picture, and how their losses fall with size.
#pragma once

#include <string>
#include <vector>

namespace vantage::cli {

/// `runs`: folders, or their log.jsonl. `picture`: what is written.
void compare_runs(const std::vector<std::string>& runs, const std::string& picture, bool json);

}  // namespace vantage::cli
