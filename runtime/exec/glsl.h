// GLSL compiled at run time, for custom kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vantage::internal {

/// SPIR-V 1.6 of a compute shader for Vulkan 1.3. Throws usage with the compiler's first error, where `name` stands for
/// the file, and unsupported in a build without the glslang library. Thread-safe.
std::vector<std::uint32_t> compile_glsl(const std::string& name, const std::string& source);

}  // namespace vantage::internal
