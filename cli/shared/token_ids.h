// Parses lists of whole numbers, such as token ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vantage::cli {

/// Accepts "1 2 3", "1,2,3" and "[1, 2, 3]". Throws usage with `source` and the word that is not a number; `what` says
/// what the numbers are.
std::vector<std::int32_t> read_ids(std::string_view text, const std::string& source, const char* what = "token id");

}  // namespace vantage::cli
