// Compute pipelines from embedded SPIR-V: made when first needed, in parallel when many are known, kept on disk.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/gpu/vk.h"

namespace vantage::gpu {

class DeviceState;

/// What identifies a pipeline. There are no descriptor sets: all data is reached through addresses in push constants.
struct PipelineKey {
    std::string module;               ///< name of an embedded SPIR-V module
    std::vector<std::uint32_t> spec;  ///< values of constant_id 0, 1, 2, …
    std::uint32_t subgroup_size = 0;  ///< required subgroup size, 0 = the driver's choice
    bool in_pieces = false;           ///< for Recording::dispatch_piece
    auto operator<=>(const PipelineKey&) const = default;
};

/// The pipeline for `key`; made on the first call and kept with the device. Thread-safe. The error of a driver that
/// refuses a pipeline names module and constants.
VkPipeline pipeline(DeviceState& device, const PipelineKey& key);
/// Makes several at once on a few threads; rethrows the first error.
void prepare_pipelines(DeviceState& device, std::span<const PipelineKey> keys);

}  // namespace vantage::gpu
