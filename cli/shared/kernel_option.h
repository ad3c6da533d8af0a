// --kernel NAME of `conform` and `bench ops`, and their checks of names.
#pragma once

#include <algorithm>
#include <string>

#include "cli/shared/command_options.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "runtime/graph/kernel_names.h"

namespace vantage::cli {

inline void add_kernel_option(CLI::App& command, std::string& kernel) {
    add_option(command, "--kernel", kernel, "Only kernels of this name", "NAME");
}

/// The current name of what --kernel gives. For the old name of a renamed kernel it logs a warning with the new name.
/// `op`: the op that --op names, or empty.
inline std::string kernel_wanted(const std::string& op, const std::string& kernel) {
    std::string name = current_kernel_name(op, kernel);
    if (name != kernel)
        log(LogLevel::warning, "--kernel: {} is now called {}; the old name is accepted in this release only", kernel,
            name);
    return name;
}

/// Throws usage, with the list of known names, unless `name` is empty or known.
template <class Names>
void require_known(const char* command, const char* what, const std::string& name, const Names& known) {
    if (!name.empty() && std::ranges::count(known, name) == 0)
        throw usage_error("{}: unknown {} \"{}\"; known: {}", command, what, name, join(known));
}

}  // namespace vantage::cli
