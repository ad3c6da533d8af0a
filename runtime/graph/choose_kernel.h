// Which kernel of an op runs a call on a device.
#pragma once

#include <string>
#include <string_view>

#include "runtime/graph/op_def.h"

namespace vantage::internal {

struct TuningTable;  // runtime/graph/tuning.h

/// Whether the device provides what the kernel needs, and the kernel fits the call.
bool eligible(const Kernel& kernel, const OpCall& call, const Caps& caps);
/// The fastest kernel by `tuning`; if it is null or does not know the call, the first eligible and profitable kernel.
/// Null if there is none.
const Kernel* choose_kernel(const OpCall& call, const Caps& caps, const TuningTable* tuning = nullptr);

/// The current name of a kernel of op `op`, or of any op if `op` is empty. Kernels were renamed: reports, tuning files and
/// --kernel accept the old names for one release. Returns `name` itself if it was not renamed.
std::string current_kernel_name(std::string_view op, std::string_view name);

}  // namespace vantage::internal
