// Which kernel of an op runs a call on a device.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

struct TuningTable;  // runtime/graph/tuning.h

/// Whether the device provides what the kernel needs, and the kernel fits the call.
bool eligible(const Kernel& kernel, const OpCall& call, const Caps& caps);
/// The fastest kernel by `tuning`; if it is null or does not know the call, the first eligible and profitable kernel.
/// Null if there is none.
const Kernel* choose_kernel(const OpCall& call, const Caps& caps, const TuningTable* tuning = nullptr);

}  // namespace vantage::internal
