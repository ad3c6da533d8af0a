// Custom kernels as ops: an OpDef made at run time, which names its kernel (OpDef::custom).
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/spirv.h"
#include "runtime/graph/op_def.h"
#include "vantage/custom_kernel.h"

namespace vantage::internal {

struct KernelState {
    OpDef op;
    std::string name;
    KernelLayout layout;
    std::vector<std::string> operand_names;
    std::string path;  // of glsl_file, else empty
    std::mutex mutex;  // guards what follows; never held while the file is compiled or a message is logged
    std::filesystem::file_time_type changed{};  // of the version that was compiled last
    const SpirvModule* newest = nullptr;        // the newest version that compiled and was not refused
    const SpirvModule* module = nullptr;        // the last one that was accepted: what new plans begin with
};

struct KernelAccess {
    static KernelState& state(const CustomKernel& kernel) { return *kernel.state_; }
};

/// Errors that say nothing of a new version: they end the run, and the version is tried again.
inline bool is_fatal(ErrorKind kind) {
    return kind == ErrorKind::interrupted || kind == ErrorKind::device_lost || kind == ErrorKind::out_of_memory;
}

/// The version that new plans begin with.
const SpirvModule& module_of(KernelState& kernel);
/// The newest version, which the caller tries: compiles the kernel's file if it has changed. A warning says why a
/// version does not compile.
const SpirvModule& newest_module(KernelState& kernel);
/// What a plan found out about a version.
void accept_module(KernelState& kernel, const SpirvModule& module);
void refuse_module(KernelState& kernel, const SpirvModule& module);

}  // namespace vantage::internal
