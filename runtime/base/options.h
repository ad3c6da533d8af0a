// The environment: the only place of the program that reads it. Every command-line flag has a VANTAGE_* twin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace vantage {

/// The variable's value, or nothing when it is unset or empty.
std::optional<std::string> environment(const char* name);
/// True for 1, true, yes, on; false for unset, empty, 0, false, no, off; anything else throws `usage`.
bool environment_flag(const char* name);

/// $XDG_CONFIG_HOME/vantage, else ~/.config/vantage; empty when there is no home.
std::string config_directory();
/// VANTAGE_CACHE_DIR, else $XDG_CACHE_HOME/vantage, else ~/.cache/vantage; empty when there is no home.
std::string cache_directory();
/// Colour is wanted: stderr/stdout is a terminal (`fd`), NO_COLOR is unset, TERM is not "dumb".
bool colour_wanted(int fd);

}  // namespace vantage
