// The compiled shaders, embedded in the program (one module per row of shaders/shaders.cmake), and those added at run
// time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/internal.h"

namespace vantage::internal {

struct SpirvModule {
    const char* name;    ///< NAME of the row: "layer_norm_subgroup"
    const char* source;  ///< the shader file, relative to shaders/: "layer_norm.comp"
    std::span<const std::uint32_t> code;
};

/// Whether these words can be a SPIR-V module: its header is there, and begins with 0x07230203.
inline bool is_spirv(std::span<const std::uint32_t> words) { return words.size() >= 5 && words[0] == 0x07230203; }

/// All modules of this build, sorted by name.
std::span<const SpirvModule> spirv_modules();
/// The module of that name, or null when it is not in this build (see `BuildFacts::left_out`).
const SpirvModule* find_spirv(std::string_view name);

/// Adds a module of the program under a name of its own, made from `name`; it stays until the program ends.
/// Thread-safe.
const SpirvModule& add_spirv(const std::string& name, std::span<const std::uint32_t> code);
/// The added module of that name, or null. Thread-safe.
const SpirvModule* find_added_spirv(std::string_view name);

}  // namespace vantage::internal
