// A node of a plan as it ran, in memory and as a folder: --dump writes it, `vantage replay` runs it again.
//
// A folder holds
//   dispatch.json         the call, its kernel and launches, the device and the build
//   operands.safetensors  operands by their names, and the device's results: result0, result1 …; quantized ones as U8
//   NAME.spv              each shader module that the kernel launches
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/op_def.h"

namespace vantage::internal {

/// A tensor in its storage type; empty for an absent operand.
using TensorBytes = std::vector<std::byte>;

/// A Launch as a file has it: `parameters` are the push constants without the addresses.
struct DumpedLaunch {
    std::string module;
    std::vector<std::uint32_t> constants;
    std::vector<std::byte> parameters;
    std::array<std::uint32_t, 3> groups{1, 1, 1};
    std::uint32_t subgroup_size = 0;
    bool operator==(const DumpedLaunch&) const = default;
};

struct NodeDump {
    std::string node;  ///< "h.3.attention"
    OpCall call;
    std::string kernel;
    std::vector<TensorBytes> inputs;   ///< before the run
    std::vector<TensorBytes> results;  ///< what the device left
    std::vector<DumpedLaunch> launches;
    std::map<std::string, std::vector<std::uint32_t>> modules;  ///< SPIR-V, by DumpedLaunch::module
    Caps device;
    std::string build;    ///< "0.1.0 (1a2b3c4d5e6f), GNU 12.2.0, Release, glslang 15.2.0"
    std::string finding;  ///< what is wrong with the results; empty if the node was chosen
};

/// The build of this program, as NodeDump::build.
std::string this_build();
/// What a reference takes, and what is compared with what it makes.
std::vector<HostTensor> inputs_of(const NodeDump& dump);
std::vector<HostTensor> results_of(const NodeDump& dump);

/// Writes a folder, whole or not at all. Throws bad_file, also for a folder that is not empty; unsupported for the node
/// of a custom kernel, whose reference is not in this program.
void write_dump(const NodeDump& dump, const std::string& folder);
/// Reads a folder from anyone: sizes are checked against the op's own rules before memory is taken. Throws bad_file.
NodeDump read_dump(const std::string& folder);

}  // namespace vantage::internal
