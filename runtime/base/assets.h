// Files that come with the program: assets/ of a checkout, share/vantage/ of an installation.
#pragma once

#include <optional>
#include <string>

namespace vantage {

/// The path of a file or folder such as "models/mini-world/config.json": below VANTAGE_ASSETS, or beside the running program's
/// folder or one above it. Nothing when it is in none of them.
std::optional<std::string> find_asset(const std::string& name);

}  // namespace vantage
