// --kernel NAME of `conform` and `bench ops`.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace vantage::cli {

void add_kernel_option(CLI::App& command, std::string& kernel);
/// The current name of what --kernel gives. For the old name of a renamed kernel it logs a warning with the new name.
/// `op`: the op that --op names, or empty.
std::string kernel_wanted(const std::string& op, const std::string& kernel);

}  // namespace vantage::cli
