// Programs: the running one with the files that come with it, and others that it starts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// Path of the running program, empty when unknown.
std::string program_path();

/// The path of a file or folder that comes with the program (assets/ of a checkout, share/vantage/ of an installation),
/// such as "models/mini-world/config.json". It is searched in VANTAGE_ASSETS, then in share/vantage/ and assets/ of the
/// program's folder and of two folders above it, but of none that others may write to. Nothing when it is not found.
std::optional<std::string> find_asset(const std::string& name);

/// The result of a program.
struct Finished {
    /// Its exit code, or 128 + the signal that ended it.
    int code = 0;
    /// What it wrote to stdout.
    std::string out;
    /// Seconds from the start until it first wrote something.
    double first_output_seconds = 0;
};
/// Runs a program and waits for its end. `command` is its path and its arguments. It gets our environment with
/// `environment` in addition, an empty stdin and our stderr. Throws bad_file when it cannot be started.
Finished run_program(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment);

}  // namespace vantage::internal
