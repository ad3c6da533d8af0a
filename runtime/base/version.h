// Facts about this build: version, commit, tools, and the kernel families that the shader compiler supports.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// For `vantage --version` and bug reports.
struct BuildFacts {
    std::string version;          ///< "0.1.0"
    std::string commit;           ///< "1a2b3c4d5e6f", with "-modified" for uncommitted changes; "unknown" without git
    std::string compiler;         ///< "GNU 12.2.0, Release"
    std::string glslang;          ///< "15.2.0": of the shaders
    std::string glslang_library;  ///< "12.0.0": of custom kernels; empty where it is not linked
    std::vector<std::string> families;  ///< optional kernel families that were built: "coopmat", "fp16", …
    std::vector<std::string> left_out;  ///< those that were not, with the GLSL extension: "bfloat16 (GL_EXT_bfloat16)"
};
const BuildFacts& build_facts();
/// Whether the kernels of an optional family were built.
inline bool has_family(const char* family) { return std::ranges::count(build_facts().families, family) > 0; }

}  // namespace vantage::internal
