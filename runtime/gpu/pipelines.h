// Compute pipelines from embedded SPIR-V: made when first needed, or several at once on a few threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/spirv.h"
#include "runtime/gpu/pipeline_cache.h"
#include "runtime/gpu/vulkan_calls.h"

namespace vantage::gpu {

class DeviceState;

/// The embedded or added module of this name. Throws unsupported if there is none.
const SpirvModule& module_named(std::string_view name);

/// Destroyed as soon as the pipeline is made, which does not refer to it.
struct ShaderModule : NotCopied {
    VkDevice device;
    VkShaderModule handle = VK_NULL_HANDLE;
    ShaderModule(const DeviceState& owner, std::span<const std::uint32_t> code, const std::string& name);
    ~ShaderModule() { vkDestroyShaderModule(device, handle, nullptr); }
};

/// Identifies a pipeline. There are no descriptor sets: shaders access all data through addresses in push constants.
struct PipelineKey {
    std::string module;               ///< name of an embedded SPIR-V module
    std::vector<std::uint32_t> spec;  ///< values of constant_id 0, 1, 2, …
    std::uint32_t subgroup_size = 0;  ///< required subgroup size, 0: the driver chooses
    auto operator<=>(const PipelineKey&) const = default;
};

/// The pipeline for `key`, made on the first call and kept with the device. Thread-safe. When a driver rejects a
/// pipeline, the error names the module and its constants.
VkPipeline pipeline(DeviceState& device, const PipelineKey& key);
/// Makes several pipelines on a few threads, each once, and rethrows the first error.
void prepare_pipelines(DeviceState& device, std::span<const PipelineKey> keys);

/// All pipelines of a device, and the layout that they share. Thread-safe.
class Pipelines : NotCopied {
public:
    explicit Pipelines(DeviceState& device);
    ~Pipelines();

    /// No descriptor sets, 128 bytes of push constants.
    VkPipelineLayout layout() const { return layout_; }
    VkPipeline get(const PipelineKey& key);
    bool has(const PipelineKey& key);
    /// Writes the cache file if pipelines were made since the last call.
    void save() noexcept;

private:
    VkPipeline make(const PipelineKey& key);

    DeviceState& device_;
    PipelineCache cache_;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    std::mutex mutex_;
    std::condition_variable made_;
    std::map<PipelineKey, VkPipeline> pipelines_;  ///< null while a thread makes it
    std::uint64_t unsaved_ = 0;                    ///< pipelines made since the cache was saved
};

}  // namespace vantage::gpu
