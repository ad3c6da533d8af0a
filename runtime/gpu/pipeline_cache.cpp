#include "runtime/gpu/pipeline_cache.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runtime/base/checksum.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/gpu/device_state.h"

namespace vantage::gpu {
namespace {

constexpr std::size_t max_file_bytes = std::size_t{512} << 20;

struct Header {
    std::array<char, 8> magic;
    std::uint32_t version, reserved;
    std::uint64_t size, checksum;
};
static_assert(sizeof(Header) == 32);
constexpr std::array<char, 8> magic{'V', 'A', 'N', 'T', 'P', 'I', 'P', 'E'};

template <class T>
std::span<const std::byte> raw(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

std::vector<std::byte> data_of(VkDevice device, VkPipelineCache cache) {
    std::size_t size = 0;
    VK_CHECK(vkGetPipelineCacheData(device, cache, &size, nullptr));
    std::vector<std::byte> data(size);
    VK_CHECK(vkGetPipelineCacheData(device, cache, &size, data.data()));
    data.resize(size);
    return data;
}

/// The driver's data in the file. Empty when there is no file or it is damaged; then the next `save` replaces it.
std::vector<std::byte> read_cache(const std::string& path) {
    std::error_code error;
    if (path.empty() || !std::filesystem::exists(path, error)) return {};
    if (!std::filesystem::is_regular_file(path, error)) {
        log(LogLevel::info, "pipeline cache {} is no regular file and not used", path);
        return {};
    }
    try {
        const std::string file = read_file(path, max_file_bytes);
        const auto data = unpack_cache(std::as_bytes(std::span(file)));
        if (!data.empty()) return {data.begin(), data.end()};
        log(LogLevel::info, "pipeline cache {} is damaged and not used", path);
    } catch (const Error& problem) {
        log(LogLevel::info, "pipeline cache not used: {}", problem.what());
    }
    return {};
}

}  // namespace

std::vector<std::byte> pack_cache(std::span<const std::byte> data) {
    const Header header{magic, 1, 0, data.size(), checksum(data)};
    std::vector<std::byte> file(sizeof(Header) + data.size());
    std::memcpy(file.data(), &header, sizeof(Header));
    if (!data.empty()) std::memcpy(file.data() + sizeof(Header), data.data(), data.size());
    return file;
}

std::span<const std::byte> unpack_cache(std::span<const std::byte> file) {
    Header header{};
    if (file.size() <= sizeof(Header)) return {};
    std::memcpy(&header, file.data(), sizeof(Header));
    const auto data = file.subspan(sizeof(Header));
    const bool whole =
        header.magic == magic && header.version == 1 && header.size == data.size() && header.checksum == checksum(data);
    return whole ? data : std::span<const std::byte>{};
}

std::string pipeline_cache_path(VkPhysicalDevice physical) {
    const std::string directory = cache_directory();
    if (directory.empty()) return "";
    auto ids = vk_struct<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    auto properties = vk_struct<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    properties.pNext = &ids;
    vkGetPhysicalDeviceProperties2(physical, &properties);
    std::uint64_t key = checksum(raw(ids.deviceUUID));
    key = checksum(raw(ids.driverUUID), key);
    key = checksum(raw(properties.properties.pipelineCacheUUID), key);
    key = checksum(raw(properties.properties.driverVersion), key);
    return directory + "/pipelines/" + format("{:016x}.bin", key);
}

PipelineCache::PipelineCache(DeviceState& device, std::span<const std::byte> data)
    : device_(device), known_(checksum(data)) {
    auto info = vk_struct<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
    info.initialDataSize = data.size();
    info.pInitialData = data.data();
    VK_CHECK(vkCreatePipelineCache(device.device, &info, nullptr, &cache_));
}

PipelineCache::PipelineCache(DeviceState& device, std::string path) : PipelineCache(device, read_cache(path)) {
    path_ = std::move(path);
    device.set_name(VK_OBJECT_TYPE_PIPELINE_CACHE, cache_, "pipelines");
}

PipelineCache::~PipelineCache() { vkDestroyPipelineCache(device_.device, cache_, nullptr); }

void PipelineCache::save() noexcept {
    if (path_.empty()) return;
    try {
        const std::lock_guard lock(mutex_);
        const FileLock file_lock(path_ + ".lock", FileLock::Sweep::folder);
        const std::vector<std::byte> theirs = read_cache(path_);
        const bool news = !theirs.empty() && checksum(theirs) != known_;  // another process has written it
        const std::vector<std::byte> data = news ? merged(theirs) : data_of(device_.device, cache_);
        if (!news) known_ = checksum(data);
        if (theirs.empty() || checksum(theirs) != checksum(data)) write_file(path_, pack_cache(data), Replaces::own);
    } catch (const std::exception& problem) {
        log(LogLevel::info, "pipeline cache not written: {}", problem.what());
    }
}

std::vector<std::byte> PipelineCache::merged(std::span<const std::byte> theirs) const {
    // Into a third cache: threads may be making pipelines with `cache_`, and only reading it needs no lock.
    const PipelineCache both(device_, theirs);
    const VkResult result = VK_RESULT_AS(any, vkMergePipelineCaches(device_.device, both.cache_, 1, &cache_));
    return data_of(device_.device, result == VK_SUCCESS ? both.cache_ : cache_);
}

}  // namespace vantage::gpu
