// Compute kernels of the program as nodes of a graph, from SPIR-V or GLSL. They are timed by their name and checked
// against a reference, as the runtime's own ops are.
//
// Threads: any, for all functions. `workgroups` and `reference` are called in the thread that compiles, runs or
// checks.
// Errors: usage, unsupported and bad_file as said below. A call that throws adds nothing to the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "vantage/op.h"

namespace vantage {

namespace internal {
struct KernelState;
struct KernelAccess;
}  // namespace internal

/// How a kernel is launched.
struct KernelLayout {
    /// in(i): the i-th tensor of the call; out(i): its i-th result. Both are numbered from 0 without gaps. Push
    /// constants begin with the address of each, 8 bytes (uvec2 or a buffer reference), in this order.
    std::vector<Operand> operands = {};
    /// Invocations of a workgroup, local_size_x: passed as the specialization constant 0, for modules that declare
    /// local_size_x_id = 0; others must declare the same number. Compiling a graph throws unsupported when the device
    /// does not allow as many.
    std::uint32_t lanes = 64;
    /// Number of workgroups; the default gives one invocation to each element of the first result. The grid is folded
    /// into y where x alone would exceed the device's limit: the index of an invocation is
    /// (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * lanes + gl_LocalInvocationID.x.
    std::function<std::uint64_t(const OpCall& call)> workgroups = {};
    /// What the kernel computes, in double. Plan::check compares with it, and so does the first run of a new version
    /// of a file. Results come sized, with zeros.
    std::function<void(const OpCall& call, std::span<const HostTensor> inputs, std::span<HostTensor> outputs)>
        reference = {};
    Tolerances tolerance = {};
};

/// A compute kernel of the program. A handle, free to copy; the kernel itself lives until the program ends, so that
/// graphs and plans may use it without keeping the handle.
///
/// Threads: any.
class CustomKernel {
public:
    /// From SPIR-V for Vulkan 1.3, entry point "main", without descriptors. Throws usage for bytes that are no SPIR-V,
    /// and for a layout without lanes, without an output, or with operands that are not as described there.
    static CustomKernel spirv(const std::string& name, std::span<const std::uint32_t> words, KernelLayout layout);
    static CustomKernel spirv(const std::string& name, std::span<const std::byte> bytes, KernelLayout layout);
    /// From GLSL for Vulkan 1.3, without #include. Throws usage with the compiler's first error, unsupported in a build
    /// without the glslang library (`vantage --version` says which one it has).
    static CustomKernel glsl(const std::string& name, const std::string& source, KernelLayout layout);
    /// From a GLSL file, compiled again when the file has changed, at the next run of a plan that uses it. That run
    /// goes node by node and compares the results with the reference; Plan::submit(After), which never waits, cannot
    /// compare. A version that does not compile, that the driver refuses, or that disagrees with the reference is
    /// reported as a warning (vantage/log.h), and the last good one stays.
    static CustomKernel glsl_file(const std::string& path, KernelLayout layout);

    const std::string& name() const;

private:
    friend struct internal::KernelAccess;
    explicit CustomKernel(internal::KernelState* state) : state_(state) {}
    internal::KernelState* state_;
};

/// The bytes of scalars as push constants hold them: 4-byte integers and floats in order. A double becomes a float, an
/// integer a 32-bit one.
template <class... Scalars>
std::vector<std::byte> kernel_params(Scalars... scalars) {
    std::vector<std::byte> bytes;
    const auto add = [&](auto scalar) {
        static_assert(std::is_arithmetic_v<decltype(scalar)>, "kernel_params takes numbers");
        using Word =
            std::conditional_t<std::is_floating_point_v<decltype(scalar)>, float,
                               std::conditional_t<std::is_signed_v<decltype(scalar)>, std::int32_t, std::uint32_t>>;
        const auto word = static_cast<Word>(scalar);
        bytes.resize(bytes.size() + 4);
        std::memcpy(bytes.data() + bytes.size() - 4, &word, 4);
    };
    (add(scalars), ...);
    return bytes;
}

/// Adds a call of `kernel` to the graph of its inputs: results of `types`; push constants are the addresses of the
/// layout's operands, then `parameters`, 128 bytes in all. Throws usage, with the caller's line, for an input that the
/// layout does not name, an empty tensor, or too many parameters.
///     Tensor y = call(leaky, {x}, {x.type()}, kernel_params(count, 0.1f))[0];
std::vector<Tensor> call(const CustomKernel& kernel, const std::vector<Tensor>& inputs,
                         const std::vector<TensorType>& types, const std::vector<std::byte>& parameters = {},
                         SourceLocation where = SourceLocation::here());

}  // namespace vantage
