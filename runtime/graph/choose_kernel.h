// Which kernel of an op runs a call on a device.
#pragma once

#include "vantage/op.h"

namespace vantage {

struct TuningTable;  // runtime/graph/tuning.h

/// Whether the device provides what the kernel needs, and it takes the call.
bool eligible(const Kernel& kernel, const OpCall& call, const Caps& caps);
/// What `tuning` was measured to be the fastest of `call.op`'s kernels; where it knows nothing, or is null, the first eligible
/// one that pays. Null when there is none.
const Kernel* choose_kernel(const OpCall& call, const Caps& caps, const TuningTable* tuning = nullptr);

}  // namespace vantage
