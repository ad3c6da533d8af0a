// The file that keeps what the driver has compiled, so that the next process does not compile it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/gpu/vulkan_calls.h"

namespace vantage::gpu {

class DeviceState;

/// A VkPipelineCache that is read from a file and written back, merged with what other processes wrote in the meantime.
/// An unreadable or damaged file is not an error: its pipelines are compiled again.
class PipelineCache : NotCopied {
public:
    /// With an empty `path` nothing is read or written.
    PipelineCache(DeviceState& device, std::string path);
    ~PipelineCache();
    VkPipelineCache handle() const { return cache_; }
    void save() noexcept;

private:
    PipelineCache(DeviceState& device, std::span<const std::byte> data);
    /// The data of `theirs`, from the file, merged with ours.
    std::vector<std::byte> merged(std::span<const std::byte> theirs) const;

    DeviceState& device_;
    std::string path_;
    VkPipelineCache cache_ = VK_NULL_HANDLE;
    std::uint64_t known_;  ///< checksum of file contents that `cache_` includes
    std::mutex mutex_;
};

/// Path of the cache file for driver and device. Empty when there is no cache directory.
std::string pipeline_cache_path(VkPhysicalDevice physical);
/// The contents of a cache file: the driver's data after a header with its size and checksum, because drivers do not
/// check the data that they are given.
std::vector<std::byte> pack_cache(std::span<const std::byte> data);
/// The driver's data in the contents of a file. Empty when the file is damaged.
std::span<const std::byte> unpack_cache(std::span<const std::byte> file);

}  // namespace vantage::gpu
