// Token ids as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vantage::cli {

/// "1 2 3", "1,2,3" and "[1, 2, 3]". Throws usage naming `source` and the word that is no id.
std::vector<std::int32_t> read_ids(std::string_view text, const std::string& source);

}  // namespace vantage::cli
