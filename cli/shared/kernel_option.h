// --kernel NAME of `conform` and `bench ops`, and their checks of names.
#pragma once

#include <algorithm>
#include <string>

#include "cli/shared/cli11.h"
#include "runtime/base/errors.h"

namespace vantage::cli {

void add_kernel_option(CLI::App& command, std::string& kernel);
/// The current name of what --kernel gives. For the old name of a renamed kernel it logs a warning with the new name.
/// `op`: the op that --op names, or empty.
std::string kernel_wanted(const std::string& op, const std::string& kernel);

/// Throws usage, with the list of known names, unless `name` is empty or known.
template <class Names>
void require_known(const char* command, const char* what, const std::string& name, const Names& known) {
    if (!name.empty() && std::ranges::count(known, name) == 0)
        throw usage_error("{}: unknown {} \"{}\"; known: {}", command, what, name, join(known));
}

}  // namespace vantage::cli
