// The compiled shaders, embedded in the program: one module per row of shaders/shaders.cmake.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vantage {

struct SpirvModule {
    const char* name;    ///< NAME of the row: "layer_norm_subgroup"
    const char* source;  ///< the shader file, relative to shaders/: "layer_norm.comp"
    std::span<const std::uint32_t> code;
};

/// All modules of this build, sorted by name.
std::span<const SpirvModule> spirv_modules();
/// The module of that name, or null when it is not in this build (see `BuildFacts::left_out`).
const SpirvModule* find_spirv(std::string_view name);

}  // namespace vantage
