// Custom kernels as ops: an OpDef made at run time, whose functions find their kernel by the op of the call.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>

#include "runtime/base/spirv.h"
#include "vantage/custom_kernel.h"

namespace vantage {

struct CustomKernel::State {
    OpDef op;  // first: `kernel_of` goes from an op to its kernel
    std::string name;
    KernelLayout layout;
    std::vector<std::string> operand_names;
    std::string path;  // of glsl_file, else empty
    std::mutex mutex;  // guards what follows
    std::filesystem::file_time_type changed{};
    const SpirvModule* module = nullptr;
};

namespace detail {

/// The custom kernel of an op, or null for an op of the runtime.
CustomKernel::State* kernel_of(const OpDef& op);
/// Its current module.
const SpirvModule& module_of(CustomKernel::State& kernel);
/// Compiles the kernel's file if it has changed since; null when it has not, or when it does not compile (a warning says why).
const SpirvModule* changed_module(CustomKernel::State& kernel);
void take_module(CustomKernel::State& kernel, const SpirvModule& module);

}  // namespace detail

}  // namespace vantage
