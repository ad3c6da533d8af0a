// Which kernel was measured to be the fastest for a call, as plain data. Files: runtime/exec/tuning_files.h.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/graph/op_def.h"

namespace vantage::internal {

/// A call as far as its speed depends on it: "matmul(f32 [512, 768], f32 [1024, 768], f32 [768], -; transpose_b) f32
/// [512, 768]". Sizes of rows are exact. All other ones are exact up to 16, the range of heads and of few tokens, and
/// from there on rounded up to a power of two. Of numbers that are no integers (scales, epsilons) only the name counts.
/// Where there is a step, the size of a cache, of a table of positions and the like is "*": a plan runs with every
/// filling.
std::string tuning_key(const OpCall& call);

/// What was measured of one call.
struct TunedCall {
    std::string kernel;  ///< the one to take
    /// Median in seconds of every kernel that the device could run, by name; nothing for those that were rejected
    /// because their results were wrong, or that took too long to be measured.
    std::map<std::string, std::optional<double>> seconds;
    bool operator==(const TunedCall&) const = default;
};

struct TuningTable {
    std::map<std::string, TunedCall> calls;  ///< by tuning_key

    /// The kernel to take; null when nothing is known of the call, when the kernel does not exist, does not fit or is
    /// not provided, or when there is one that was not measured: then the table is older than the program.
    const Kernel* choose(const OpCall& call, const Caps& caps) const;
    /// Takes over all of `other`, whose choices count more.
    void merge(const TuningTable& other);
    bool operator==(const TuningTable&) const = default;
};

/// Median and quartiles of the samples of a kernel that was measured together with others, in seconds.
struct KernelTime {
    double median = 0, lower_quartile = 0, upper_quartile = 0;
};
/// Whether `candidate` replaces `baseline`: its median must be lower by 5 %, and three quarters of its samples
/// below three quarters of the other's, so that noise changes no choice.
bool faster_beyond_noise(const KernelTime& candidate, const KernelTime& baseline);

}  // namespace vantage::internal
