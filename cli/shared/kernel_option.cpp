#include "cli/shared/kernel_option.h"

#include <CLI/CLI.hpp>

#include "cli/shared/command_options.h"
#include "runtime/base/log.h"
#include "runtime/graph/choose_kernel.h"

namespace vantage::cli {

void add_kernel_option(CLI::App& command, std::string& kernel) {
    add_option(command, "--kernel", kernel, "Only kernels of this name", "NAME");
}

std::string kernel_wanted(const std::string& op, const std::string& kernel) {
    std::string name = current_kernel_name(op, kernel);
    if (name != kernel)
        log(LogLevel::warning, "--kernel: {} is now called {}; the old name is accepted in this release only", kernel,
            name);
    return name;
}

}  // namespace vantage::cli
