// The state of an open device, which all copies of a Device share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/gpu/vulkan_calls.h"
#include "vantage/vulkan.h"

VK_DEFINE_HANDLE(VmaAllocator)
VK_DEFINE_HANDLE(VmaAllocation)

namespace vantage::gpu {

class Instance;
class Pipelines;
class Staging;

/// What a DeviceState is made from: a device that Vantage created, or one that the program brought.
struct DeviceParts : VulkanHandles {
    std::shared_ptr<Instance> own_instance = {};  ///< null when the program brought it
    Caps caps = {};                               ///< with quirks applied, and without what was not enabled
    std::vector<std::string> extensions = {};     ///< enabled; unknown if the program brought the device
    bool debug_names = false, external_memory = false, external_semaphore = false;
    bool owned = false;  ///< the device is destroyed with the state
};

/// The state of the queue. The functions of queue.h use it.
struct QueueState {
    /// Held while submitting. A viewer that shares the queue locks it, too.
    std::mutex mutex;
    /// Counts submissions.
    VkSemaphore timeline = VK_NULL_HANDLE;
    /// The value that the timeline reaches when all submitted work is done.
    std::atomic<std::uint64_t> submitted{0};
    /// The device was lost: nothing is submitted or waited for any more. Set by DeviceState::lose.
    std::atomic<bool> lost{false};
    /// 0: the queue has no timestamps.
    std::uint32_t timestamp_bits = 0;
    /// Guarded by `mutex`. A member so that submitting does not allocate.
    std::vector<VkCommandBufferSubmitInfo> submit_infos;
};

/// The allocator, and the bytes that buffers hold. The functions of buffer.h use it.
struct MemoryState {
    VmaAllocator allocator = VK_NULL_HANDLE;
    /// Bytes of all buffers: now, and the maximum since it was last set.
    std::atomic<std::uint64_t> held{0}, max_held{0};
    /// The most bytes that buffers may hold. For tests.
    std::uint64_t limit = UINT64_MAX;
};

/// Device objects without an owner, kept until the device has finished what was submitted so far.
struct Retired {
    VkBuffer buffer = VK_NULL_HANDLE;
    VmaAllocation allocation = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;  ///< of an imported or exported buffer
    VkCommandPool pool = VK_NULL_HANDLE;
    VkQueryPool queries = VK_NULL_HANDLE;
    std::uint64_t value = 0;  ///< of the timeline, set by `retire`
};

/// Held while a command buffer is begun, labelled or destroyed, if objects have names (DeviceParts::debug_names): the
/// validation layers of 2023 keep the labels of all devices in one table, from which they erase without a lock.
inline std::mutex label_mutex;

/// Known faults of the device, and what this build lacks or the user has disabled (VANTAGE_DISABLE_…).
Quirks quirks_here(const Caps& caps);

class DeviceState : public std::enable_shared_from_this<DeviceState>, NotCopied {
public:
    /// Creates device and queue for `physical`. `windows` enables VK_KHR_swapchain.
    static std::shared_ptr<DeviceState> open(std::shared_ptr<Instance> instance, VkPhysicalDevice physical,
                                             const Caps& caps, bool windows);
    /// Uses an existing device.
    static std::shared_ptr<DeviceState> adopt(DeviceParts parts);
    ~DeviceState();

    const Caps& caps() const { return parts.caps; }
    /// Bytes of device memory that are left.
    std::uint64_t memory_available() const;
    /// From now on the device is lost. `cause` is for messages; the first one is kept.
    void lose(std::string_view cause) noexcept;
    /// `lose`, if a call with this result loses the device.
    void lose_if_lost(VkResult result, const char* call);
    /// Throws device_lost, with the cause, when the device was lost before.
    void require_alive() const;
    /// Waits at most `seconds` until the timeline reaches `value`: VK_SUCCESS, VK_TIMEOUT or an error.
    VkResult wait_timeline(std::uint64_t value, double seconds) const noexcept;
    /// Waits at most `seconds` for all submitted work, also when the device is lost. False when it is still running.
    bool quiesce(double seconds) const noexcept;
    /// Destroys the objects when the device has finished all that was submitted so far: now, or in a later `collect`.
    void retire(Retired objects) noexcept;
    void collect() noexcept;
    /// A timeline semaphore that the caller destroys. `next` extends its VkSemaphoreTypeCreateInfo.
    VkSemaphore make_timeline(const std::string& name, const void* next = nullptr) const;
    /// Gives a Vulkan object a name for validation messages and captures.
    void set_name(VkObjectType type, std::uint64_t handle, const std::string& name) const noexcept;
    template <class Handle>
    void set_name(VkObjectType type, Handle handle, const std::string& name) const noexcept {
        set_name(type, reinterpret_cast<std::uint64_t>(handle), name);
    }

    DeviceParts parts;
    VkDevice device = VK_NULL_HANDLE;  ///< = parts.device
    QueueState queue;
    MemoryState memory;
    std::unique_ptr<Staging> staging;
    std::unique_ptr<Pipelines> pipelines;

private:
    DeviceState() = default;
    void make_objects();
    void make_allocator();
    void destroy(const Retired& objects) noexcept;

    mutable std::mutex lost_mutex_;
    std::string lost_by_;  ///< guarded by lost_mutex_
    std::mutex retired_mutex_;
    std::vector<Retired> retired_;               ///< guarded by retired_mutex_
    std::atomic<std::size_t> retired_count_{0};  ///< avoids the lock when there is nothing to collect
};

}  // namespace vantage::gpu
