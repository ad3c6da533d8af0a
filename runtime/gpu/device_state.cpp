#include "runtime/gpu/device_state.h"

#include <algorithm>
#include <array>
#include <exception>
#include <new>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/log.h"
#include "runtime/gpu/instance.h"
#include "runtime/gpu/pipelines.h"
#include "runtime/gpu/third_party_vma.h"
#include "runtime/gpu/transfer.h"

namespace vantage::gpu {
namespace {

/// Prefers a family that also draws, so that a viewer shares queue and memory without ownership transfers.
std::uint32_t choose_queue_family(VkPhysicalDevice physical) {
    const std::vector<VkQueueFamilyProperties> families = queue_families(physical);
    constexpr VkQueueFlags compute = VK_QUEUE_COMPUTE_BIT, graphics = VK_QUEUE_GRAPHICS_BIT;
    for (const VkQueueFlags wanted : {compute | graphics, compute}) {
        for (std::uint32_t i = 0; i < families.size(); ++i)
            if ((families[i].queueFlags & wanted) == wanted) return i;
    }
    throw Error(ErrorKind::no_device,
                "the device has no compute queue: use another device (vantage devices lists them)");
}

VkDevice create_device(VkPhysicalDevice physical, DeviceFeatures& features, std::uint32_t queue_family) {
    const float priority = 1.0f;
    auto queue = vk_struct<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
    queue.queueFamilyIndex = queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    auto info = vk_struct<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
    info.pNext = features.chain();
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = u32(features.extensions().size());
    info.ppEnabledExtensionNames = features.extensions().data();
    VkDevice device = VK_NULL_HANDLE;
    VK_CHECK(vkCreateDevice(physical, &info, nullptr, &device));
    return device;
}

/// Names memory that the allocator takes from the driver: a block for several buffers, or for one.
void VKAPI_PTR name_memory(VmaAllocator, std::uint32_t type, VkDeviceMemory memory, VkDeviceSize bytes, void* state) {
    static_cast<const DeviceState*>(state)->set_name(VK_OBJECT_TYPE_DEVICE_MEMORY, memory,
                                                     format("{} of memory type {}", bytes_text(bytes), type));
}

}  // namespace

std::shared_ptr<DeviceState> DeviceState::open(std::shared_ptr<Instance> instance, VkPhysicalDevice physical,
                                               const Caps& caps, bool windows) {
    DeviceFeatures features(physical, windows);
    if (windows && !features.has_extension(VK_KHR_SWAPCHAIN_EXTENSION_NAME))
        throw unsupported_error("{} cannot show windows: it lacks VK_KHR_swapchain", caps.name);
    DeviceParts parts;
    parts.instance = instance->handle();
    parts.physical = physical;
    parts.caps = caps;
    parts.extensions.assign(features.extensions().begin(), features.extensions().end());
    parts.debug_names = instance->debug_utils();
    parts.external_memory = features.has_extension(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    parts.external_semaphore = features.has_extension(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
    parts.queue_family = choose_queue_family(physical);
    parts.own_instance = std::move(instance);
    parts.device = create_device(physical, features, parts.queue_family);
    parts.owned = true;
    vkGetDeviceQueue(parts.device, parts.queue_family, 0, &parts.queue);
    return adopt(std::move(parts));
}

std::shared_ptr<DeviceState> DeviceState::adopt(DeviceParts parts) {
    std::shared_ptr<DeviceState> state(new DeviceState);
    state->parts = std::move(parts);
    state->device = state->parts.device;
    state->make_objects();  // after an exception the destructor frees what was made
    return state;
}

void DeviceState::make_objects() {
    set_name(VK_OBJECT_TYPE_DEVICE, device, parts.caps.name);
    set_name(VK_OBJECT_TYPE_QUEUE, parts.queue, "compute");
    queue.timestamp_bits = queue_families(parts.physical).at(parts.queue_family).timestampValidBits;
    queue.timeline = make_timeline("submissions");
    make_allocator();
    staging = std::make_unique<Staging>(*this);
    pipelines = std::make_unique<Pipelines>(*this);
    queue.submit_infos.reserve(64);
}

VkSemaphore DeviceState::make_timeline(const std::string& name, const void* next) const {
    auto type = vk_struct<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    type.pNext = next;
    auto info = vk_struct<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
    info.pNext = &type;
    VkSemaphore made = VK_NULL_HANDLE;
    VK_CHECK(vkCreateSemaphore(device, &info, nullptr, &made));
    set_name(VK_OBJECT_TYPE_SEMAPHORE, made, name);
    return made;
}

void DeviceState::make_allocator() {
    VmaVulkanFunctions functions{};
    functions.vkGetInstanceProcAddr = vkGetInstanceProcAddr;
    functions.vkGetDeviceProcAddr = vkGetDeviceProcAddr;
    VmaAllocatorCreateInfo info{};
    info.flags = VMA_ALLOCATOR_CREATE_BUFFER_DEVICE_ADDRESS_BIT;
    if (parts.caps.memory_budget) info.flags |= VMA_ALLOCATOR_CREATE_EXT_MEMORY_BUDGET_BIT;
    info.instance = parts.instance;
    info.physicalDevice = parts.physical;
    info.device = device;
    info.pVulkanFunctions = &functions;
    info.vulkanApiVersion = VK_API_VERSION_1_3;
    VmaDeviceMemoryCallbacks callbacks{};
    callbacks.pfnAllocate = name_memory;
    callbacks.pUserData = this;
    if (parts.debug_names) info.pDeviceMemoryCallbacks = &callbacks;
    VK_CHECK(vmaCreateAllocator(&info, &memory.allocator));
}

DeviceState::~DeviceState() {
    if (device == VK_NULL_HANDLE) return;
    // What the device still uses must not be destroyed. If it does not respond, everything is leaked.
    if (!quiesce(ending() ? 0.0 : queue.lost ? 10.0 : 600.0)) {
        if (!ending())
            log(LogLevel::error, "{} does not respond: its memory is not freed before the process ends",
                parts.caps.name);
        static_cast<void>(pipelines.release());
        static_cast<void>(staging.release());
        static_cast<void>(new (std::nothrow) std::shared_ptr<Instance>(parts.own_instance));
        return;
    }
    staging.reset();
    collect();
    pipelines.reset();
    vkDestroySemaphore(device, queue.timeline, nullptr);
    vmaDestroyAllocator(memory.allocator);
    if (parts.owned) vkDestroyDevice(device, nullptr);
}

void DeviceState::destroy(const Retired& objects) noexcept {
    if (objects.allocation != VK_NULL_HANDLE)
        vmaDestroyBuffer(memory.allocator, objects.buffer, objects.allocation);
    else if (objects.buffer != VK_NULL_HANDLE)
        vkDestroyBuffer(device, objects.buffer, nullptr);
    if (objects.memory != VK_NULL_HANDLE) vkFreeMemory(device, objects.memory, nullptr);
    if (objects.pool != VK_NULL_HANDLE) {
        std::unique_lock lock(label_mutex, std::defer_lock);
        if (parts.debug_names) lock.lock();
        vkDestroyCommandPool(device, objects.pool, nullptr);
    }
    if (objects.queries != VK_NULL_HANDLE) vkDestroyQueryPool(device, objects.queries, nullptr);
}

void DeviceState::retire(Retired objects) noexcept {
    objects.value = queue.submitted;
    if (quiesce(0)) return destroy(objects);
    try {
        const std::lock_guard lock(retired_mutex_);
        retired_.push_back(objects);
        retired_count_ = retired_.size();
    } catch (const std::exception&) {  // no memory for the list: wait, and leak rather than destroy too early
        if (quiesce(60)) destroy(objects);
    }
}

void DeviceState::collect() noexcept {
    if (retired_count_ == 0) return;
    std::uint64_t done = 0;
    const VkResult result = vkGetSemaphoreCounterValue(device, queue.timeline, &done);
    // A lost device runs nothing, so everything can be destroyed. After another error the next call tries again.
    if (result == VK_ERROR_DEVICE_LOST) done = queue.submitted;
    const std::lock_guard lock(retired_mutex_);
    std::erase_if(retired_, [&](const Retired& objects) {
        if (objects.value > done) return false;
        destroy(objects);
        return true;
    });
    retired_count_ = retired_.size();
}

std::uint64_t DeviceState::memory_available() const {
    std::array<VmaBudget, VK_MAX_MEMORY_HEAPS> budgets{};
    vmaGetHeapBudgets(memory.allocator, budgets.data());
    const VkPhysicalDeviceMemoryProperties* heaps = nullptr;
    vmaGetMemoryProperties(memory.allocator, &heaps);
    const bool one_memory = caps().type == DeviceType::integrated || caps().is_cpu();
    std::uint64_t available = 0, ours = 0;
    for (std::uint32_t i = 0; i < heaps->memoryHeapCount; ++i) {
        if (!one_memory && (heaps->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0) continue;
        const VmaBudget& budget = budgets[i];
        // Free space in the allocator's blocks counts as used for the system, but new buffers can have it.
        const std::uint64_t room = budget.statistics.blockBytes - budget.statistics.allocationBytes;
        const std::uint64_t limit = caps().memory_budget ? budget.budget : heaps->memoryHeaps[i].size;
        const std::uint64_t used = caps().memory_budget ? budget.usage : budget.statistics.blockBytes;
        available += (limit > used ? limit - used : 0) + room;
        ours += budget.statistics.allocationBytes;
    }
    return std::min(available, memory.limit - std::min(memory.limit, ours));
}

void DeviceState::lose(std::string_view cause) noexcept {
    const std::lock_guard lock(lost_mutex_);
    if (queue.lost.exchange(true)) return;
    try {
        lost_by_ = cause;
    } catch (const std::bad_alloc&) {  // no memory for the cause
    }
}

void DeviceState::lose_if_lost(VkResult result, const char* call) {
    if (result == VK_ERROR_DEVICE_LOST || result == VK_TIMEOUT) lose(result_text(result, call));
}

// The thread that met the cause may not be the one whose error is shown.
void DeviceState::require_alive() const {
    if (!queue.lost) return;
    const std::lock_guard lock(lost_mutex_);
    throw Error(ErrorKind::device_lost, parts.caps.name + " was lost: " + lost_by_);
}

VkResult DeviceState::wait_timeline(std::uint64_t value, double seconds) const noexcept {
    auto info = vk_struct<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
    info.semaphoreCount = 1;
    info.pSemaphores = &queue.timeline;
    info.pValues = &value;
    return vkWaitSemaphores(device, &info, static_cast<std::uint64_t>(seconds * 1e9));
}

bool DeviceState::quiesce(double seconds) const noexcept {
    if (queue.timeline == VK_NULL_HANDLE || queue.submitted == 0) return true;
    // Nothing runs on a lost device. After another error, such as no memory, it may still be running.
    VkResult result = VK_INCOMPLETE;
    for (int tries = 0; tries < 3 && result != VK_SUCCESS && result != VK_TIMEOUT; ++tries) {
        result = wait_timeline(queue.submitted, seconds);
        if (result == VK_ERROR_DEVICE_LOST) return true;
    }
    return result == VK_SUCCESS;
}

void DeviceState::set_name(VkObjectType type, std::uint64_t handle, const std::string& name) const noexcept {
    if (!parts.debug_names) return;
    auto info = vk_struct<VkDebugUtilsObjectNameInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT);
    info.objectType = type;
    info.objectHandle = handle;
    info.pObjectName = name.c_str();
    static_cast<void>(vkSetDebugUtilsObjectNameEXT(device, &info));  // a missing name is not an error
}

}  // namespace vantage::gpu
