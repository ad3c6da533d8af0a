// The pipelines of a device, and the file that remembers what the driver compiled.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/gpu/kernel.h"
#include "runtime/gpu/vk.h"

namespace vantage::gpu {

/// A VkPipelineCache that is read from a file and written back, merged with what other processes wrote meanwhile.
/// Nothing here ever fails the program: without a usable file, pipelines are compiled again.
class PipelineCache {
public:
    /// `path` empty: nothing is read or written.
    PipelineCache(DeviceState& device, std::string path);
    ~PipelineCache();
    PipelineCache(const PipelineCache&) = delete;
    PipelineCache& operator=(const PipelineCache&) = delete;
    VkPipelineCache handle() const { return cache_; }
    void save() noexcept;

private:
    /// The file's data together with ours.
    std::vector<std::byte> merged(std::span<const std::byte> theirs) const;

    DeviceState& device_;
    std::string path_;
    VkPipelineCache cache_ = VK_NULL_HANDLE;
    std::uint64_t known_ = 0;  ///< checksum of a file whose contents `cache_` has
    std::mutex mutex_;
};

/// Path of the cache file for driver and device; empty when there is no cache directory.
std::string pipeline_cache_path(VkPhysicalDevice physical);
/// The file's contents around the driver's data: a header with size and checksum, because drivers trust what they are given.
std::vector<std::byte> pack_cache(std::span<const std::byte> data);
/// The data of a file, empty when it is damaged.
std::span<const std::byte> unpack_cache(std::span<const std::byte> file);

class PipelineStore {
public:
    explicit PipelineStore(DeviceState& device);
    ~PipelineStore();
    PipelineStore(const PipelineStore&) = delete;
    PipelineStore& operator=(const PipelineStore&) = delete;

    VkPipeline get(const PipelineKey& key);
    bool has(const PipelineKey& key);
    /// Writes the cache file when pipelines were made since the last time.
    void save() noexcept;

private:
    VkPipeline make(const PipelineKey& key);

    DeviceState& device_;
    PipelineCache cache_;
    std::mutex mutex_;
    std::condition_variable made_;
    std::map<PipelineKey, VkPipeline> pipelines_;  ///< null while a thread makes it
    std::uint64_t fresh_ = 0;                      ///< pipelines since the cache was saved
};

}  // namespace vantage::gpu
