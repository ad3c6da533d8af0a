// Files that come with the program: assets/ of a checkout, share/vantage/ of an installation.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// The path of a file or folder such as "models/mini-world/config.json". It is searched in VANTAGE_ASSETS, then in
/// share/vantage/ and assets/ of the program's folder and of each folder above it. Nothing when it is not found.
std::optional<std::string> find_asset(const std::string& name);

}  // namespace vantage::internal
