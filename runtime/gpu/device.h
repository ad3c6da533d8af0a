// The state behind a Device: instance, device, queue, allocator, pipeline cache.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/gpu/kernel.h"
#include "runtime/gpu/memory.h"
#include "runtime/gpu/vk.h"
#include "vantage/caps.h"
#include "vantage/device.h"

VK_DEFINE_HANDLE(VmaAllocator)
VK_DEFINE_HANDLE(VmaAllocation)

namespace vantage::gpu {

class Instance;
class PipelineStore;
class Staging;

/// Device objects whose owner is gone, kept until the device is done with what was submitted so far.
struct Retired {
    VkBuffer buffer = VK_NULL_HANDLE;
    VmaAllocation allocation = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;  ///< of an imported or exported buffer
    VkCommandPool pool = VK_NULL_HANDLE;
    VkQueryPool queries = VK_NULL_HANDLE;
    std::uint64_t value = 0;  ///< of the timeline, filled in by `retire`
};

/// What `DeviceState` is made from: a device of our own, or one that a program brought.
struct DeviceParts {
    std::shared_ptr<Instance> instance;  ///< null when the program brought it
    VkInstance instance_handle = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    std::uint32_t queue_family = 0;
    Caps caps;  ///< with quirks, and without what was not enabled
    bool debug_names = false, external_memory = false, external_semaphore = false;
    bool owned = false;
};

/// Known faults of the device, and what this build lacks or the user has switched off (VANTAGE_DISABLE_…).
Quirks quirks_here(const Caps& caps);

class DeviceState : public std::enable_shared_from_this<DeviceState> {
public:
    /// Makes device and queue for `physical`; `windows` asks for VK_KHR_swapchain.
    static std::shared_ptr<DeviceState> open(std::shared_ptr<Instance> instance, VkPhysicalDevice physical,
                                             const Caps& caps, bool windows);
    /// Takes over `parts`; the device is destroyed with the state when `parts.owned`.
    static std::shared_ptr<DeviceState> adopt(DeviceParts parts);
    ~DeviceState();
    DeviceState(const DeviceState&) = delete;
    DeviceState& operator=(const DeviceState&) = delete;

    DeviceParts parts;
    VkDevice device = VK_NULL_HANDLE;  ///< = parts.device
    const Caps& caps() const { return parts.caps; }
    VmaAllocator allocator = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;  ///< of all pipelines: no sets, 128 bytes of push constants
    std::uint32_t timestamp_bits = 0;          ///< 0: the queue has no timestamps

    // ---- the queue: see commands.h
    std::mutex queue_mutex;                   ///< held while submitting; a viewer that shares the queue takes it, too
    VkSemaphore timeline = VK_NULL_HANDLE;    ///< counts submissions
    std::atomic<std::uint64_t> submitted{0};  ///< value that the timeline reaches when all submitted work is done
    std::atomic<VkResult> lost{VK_SUCCESS};   ///< by what; then nothing is submitted or waited for any more
    std::vector<VkCommandBufferSubmitInfo>
        submit_infos;  ///< guarded by queue_mutex; a member so that submitting allocates nothing

    // ---- memory: see memory.h
    std::uint64_t staging_piece = 16ull << 20;        ///< bytes that cross at a time
    std::atomic<std::uint64_t> held{0}, max_held{0};  ///< bytes of buffers: now, and at most since that was set
    std::uint64_t memory_limit = UINT64_MAX;          ///< bytes that are ours at most (tests)
    bool direct_mapping = true;                       ///< false: always through staging (tests)
    std::unique_ptr<Staging> staging;
    std::mutex staging_mutex;

    std::unique_ptr<PipelineStore> pipelines;

    /// Destroys the objects when the device has done all that was submitted so far: at once, or in a later `collect`.
    void retire(Retired objects) noexcept;
    void collect() noexcept;
    /// Waits at most `seconds` for the device, also a lost one. False when it is still at work.
    bool quiesce(double seconds) noexcept;
    /// Bytes of device memory that are left.
    std::uint64_t memory_available() const;
    /// Throws device_lost when the device was lost before.
    void require_alive() const;
    /// Gives a Vulkan object a name for validation messages and captures.
    void set_name(VkObjectType type, std::uint64_t handle, const std::string& name) const noexcept;
    template <class Handle>
    void set_name(VkObjectType type, Handle handle, const std::string& name) const noexcept {
        set_name(type, reinterpret_cast<std::uint64_t>(handle), name);
    }

private:
    DeviceState() = default;
    void make_objects();
    void make_allocator();
    void make_timeline();
    void destroy(const Retired& objects) noexcept;

    std::mutex retired_mutex_;
    std::vector<Retired> retired_;               ///< guarded by retired_mutex_
    std::atomic<std::size_t> retired_count_{0};  ///< spares the lock in the usual case
};

}  // namespace vantage::gpu
