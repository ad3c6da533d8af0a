// Settings from environment variables. The VANTAGE_* variables of command-line options are read by the option parser.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// The value of a variable, or nothing when it is unset or empty.
std::optional<std::string> environment(const char* name);
/// True for 1, true, yes, on. False for unset, empty, 0, false, no, off. Throws `usage` for anything else.
bool environment_flag(const char* name);

/// $XDG_CONFIG_HOME/vantage, else ~/.config/vantage. Empty when HOME is unset.
std::string config_directory();
/// VANTAGE_CACHE_DIR, else $XDG_CACHE_HOME/vantage, else ~/.cache/vantage. Empty when HOME is unset.
std::string cache_directory();
/// Whether output to `fd` is coloured: it is a terminal, NO_COLOR is unset and TERM is not "dumb".
bool colour_wanted(int fd);

}  // namespace vantage::internal
