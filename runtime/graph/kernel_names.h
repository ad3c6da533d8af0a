// Kernels that were renamed. Reports, tuning files and --kernel accept the old names for one release.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// The current name of a kernel of op `op`, or of any op if `op` is empty. Returns `name` itself if it was not renamed.
std::string current_kernel_name(std::string_view op, std::string_view name);

}  // namespace vantage::internal
