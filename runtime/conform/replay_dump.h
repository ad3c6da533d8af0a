// Runs the node of a dump alone on a device, and compares its results with the reference.
#pragma once

#include <string>
#include <vector>

#include "runtime/exec/node_dump.h"
#include "runtime/graph/compare.h"
#include "vantage/device.h"

namespace vantage::internal {

struct ReplayOptions {
    std::string kernel = {};  ///< empty: the dump's
    /// Runs the shader modules of the dump, which can do on the device what they like, in place of this build's.
    bool dumped_modules = false;
};

/// A result of the node: as the reference makes it, as it was dumped, and as it is here.
struct ReplayedResult {
    std::string name;
    HostTensor want, dumped, here;
    Comparison dumped_error, error;
    std::int64_t changed = 0;  ///< elements that are not the same as in the dump
};

struct DumpReplay {
    std::string kernel;
    std::vector<std::string> notes;  ///< how this run differs from the dumped one; operands that are not finite
    std::vector<ReplayedResult> results;
    bool passed() const;
};

/// Throws unsupported if the kernel does not run the call on this device, or the modules of the dump do not fit it;
/// bad_file for a dump that the op refuses.
DumpReplay replay_dump(const Device& device, const NodeDump& dump, const ReplayOptions& options = {});

}  // namespace vantage::internal
