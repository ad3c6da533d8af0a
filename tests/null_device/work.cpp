// Memory, buffers, commands, queue and semaphores of the null device.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "tests/null_device/functions.h"

namespace null_device {
namespace {

struct Queue : Dispatchable {};
struct Device : Dispatchable {
    Queue queue;
};
struct Memory {
    std::byte* data;
    VkDeviceSize bytes;
};
struct Buffer {
    VkDeviceSize bytes;
    std::byte* data = nullptr;  ///< null until memory is bound
};
struct Semaphore {
    std::atomic<std::uint64_t> value;
};
struct Fence {
    std::atomic<bool> signalled;
};
struct QueryPool {
    std::vector<std::uint64_t> ticks;  ///< 0: not written
};
struct CommandBuffer : Dispatchable {
    std::vector<std::function<void()>> commands;
};
struct CommandPool {
    std::vector<std::unique_ptr<CommandBuffer>> buffers;
};
/// Shader modules, layouts, pipelines, caches: nothing is kept of them.
struct Token {};

std::atomic<VkDeviceSize> allocated{0};
std::atomic<std::uint64_t> clock_ticks{0};

template <class Object, class Handle, class... Values>
VkResult make(Handle* made, Values&&... values) {
    *made = handle_of<Handle>(new Object{std::forward<Values>(values)...});
    return VK_SUCCESS;
}
template <class Object, class Handle>
void destroy(Handle handle) {
    delete reinterpret_cast<Object*>(handle);
}

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "null device: %s\n", what);
    std::abort();
}

/// The bytes from `offset` of a buffer. Ends the process if they are not in it.
std::byte* range(VkBuffer handle, VkDeviceSize offset, VkDeviceSize bytes) {
    const auto& buffer = object_of<Buffer>(handle);
    require(buffer.data != nullptr, "a command uses a buffer without memory");
    require(offset <= buffer.bytes && bytes <= buffer.bytes - offset, "a command goes beyond the end of its buffer");
    return buffer.data + offset;
}

template <class Command>
void record(VkCommandBuffer commands, Command command) {
    object_of<CommandBuffer>(commands).commands.emplace_back(std::move(command));
}

VkMemoryRequirements requirements_of(VkDeviceSize bytes) { return {(bytes + 255) / 256 * 256, 256, 1}; }

/// Whether `done` becomes true within `nanoseconds`.
template <class Done>
VkResult wait_for(std::uint64_t nanoseconds, Done done) {
    const auto start = std::chrono::steady_clock::now();
    while (!done()) {
        const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
        if (passed.count() >= static_cast<double>(nanoseconds)) return VK_TIMEOUT;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return VK_SUCCESS;
}

}  // namespace

VkDeviceSize heap_bytes() {
    static const VkDeviceSize bytes = [] {
        const char* text = std::getenv("NULL_DEVICE_MEMORY");
        return text != nullptr ? std::strtoull(text, nullptr, 10) : VkDeviceSize{4} << 30;
    }();
    return bytes;
}
VkDeviceSize allocated_bytes() { return allocated; }

// ---- device and queue ----------------------------------------------------------------------------------------------

VkResult CreateDevice(VkPhysicalDevice, const VkDeviceCreateInfo*, const VkAllocationCallbacks*, VkDevice* made) {
    return make<Device>(made);
}
void DestroyDevice(VkDevice device, const VkAllocationCallbacks*) { destroy<Device>(device); }
void GetDeviceQueue(VkDevice device, std::uint32_t, std::uint32_t, VkQueue* queue) {
    *queue = handle_of<VkQueue>(&object_of<Device>(device).queue);
}
void GetDeviceQueue2(VkDevice device, const VkDeviceQueueInfo2*, VkQueue* queue) {
    GetDeviceQueue(device, 0, 0, queue);
}
VkResult DeviceWaitIdle(VkDevice) { return VK_SUCCESS; }
VkResult QueueWaitIdle(VkQueue) { return VK_SUCCESS; }

VkResult QueueSubmit2(VkQueue, std::uint32_t count, const VkSubmitInfo2* submits, VkFence fence) {
    for (const VkSubmitInfo2& submit : std::span(submits, count)) {
        for (const auto& info : std::span(submit.pCommandBufferInfos, submit.commandBufferInfoCount))
            for (const auto& command : object_of<CommandBuffer>(info.commandBuffer).commands) command();
        for (const auto& signal : std::span(submit.pSignalSemaphoreInfos, submit.signalSemaphoreInfoCount))
            object_of<Semaphore>(signal.semaphore).value = signal.value;
    }
    if (fence != VK_NULL_HANDLE) object_of<Fence>(fence).signalled = true;
    return VK_SUCCESS;
}

// ---- memory and buffers --------------------------------------------------------------------------------------------

// Pages of the system instead of calloc: memory that is not touched costs nothing, under sanitizers, too.
VkResult AllocateMemory(VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                        VkDeviceMemory* made) {
    const VkDeviceSize bytes = info->allocationSize;
    if ((allocated += bytes) <= heap_bytes()) {
        void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (data != MAP_FAILED) return make<Memory>(made, static_cast<std::byte*>(data), bytes);
    }
    allocated -= bytes;
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}
void FreeMemory(VkDevice, VkDeviceMemory handle, const VkAllocationCallbacks*) {
    if (handle == VK_NULL_HANDLE) return;
    const auto& memory = object_of<Memory>(handle);
    munmap(memory.data, memory.bytes);
    allocated -= memory.bytes;
    destroy<Memory>(handle);
}
VkResult MapMemory(VkDevice, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize, VkMemoryMapFlags, void** data) {
    *data = object_of<Memory>(memory).data + offset;
    return VK_SUCCESS;
}
void UnmapMemory(VkDevice, VkDeviceMemory) {}
VkResult FlushMappedMemoryRanges(VkDevice, std::uint32_t, const VkMappedMemoryRange*) { return VK_SUCCESS; }
VkResult InvalidateMappedMemoryRanges(VkDevice, std::uint32_t, const VkMappedMemoryRange*) { return VK_SUCCESS; }

VkResult CreateBuffer(VkDevice, const VkBufferCreateInfo* info, const VkAllocationCallbacks*, VkBuffer* made) {
    return make<Buffer>(made, info->size);
}
void DestroyBuffer(VkDevice, VkBuffer buffer, const VkAllocationCallbacks*) { destroy<Buffer>(buffer); }
void GetBufferMemoryRequirements(VkDevice, VkBuffer buffer, VkMemoryRequirements* requirements) {
    *requirements = requirements_of(object_of<Buffer>(buffer).bytes);
}
void GetBufferMemoryRequirements2(VkDevice, const VkBufferMemoryRequirementsInfo2* info,
                                  VkMemoryRequirements2* requirements) {
    requirements->memoryRequirements = requirements_of(object_of<Buffer>(info->buffer).bytes);
}
void GetDeviceBufferMemoryRequirements(VkDevice, const VkDeviceBufferMemoryRequirements* info,
                                       VkMemoryRequirements2* requirements) {
    requirements->memoryRequirements = requirements_of(info->pCreateInfo->size);
}
VkResult BindBufferMemory(VkDevice, VkBuffer buffer, VkDeviceMemory handle, VkDeviceSize offset) {
    const auto& memory = object_of<Memory>(handle);
    const VkDeviceSize bytes = object_of<Buffer>(buffer).bytes;
    require(offset <= memory.bytes && bytes <= memory.bytes - offset, "a buffer is bound beyond the end of its memory");
    object_of<Buffer>(buffer).data = memory.data + offset;
    return VK_SUCCESS;
}
VkResult BindBufferMemory2(VkDevice device, std::uint32_t count, const VkBindBufferMemoryInfo* infos) {
    for (const auto& info : std::span(infos, count))
        BindBufferMemory(device, info.buffer, info.memory, info.memoryOffset);
    return VK_SUCCESS;
}
VkDeviceAddress GetBufferDeviceAddress(VkDevice, const VkBufferDeviceAddressInfo* info) {
    return reinterpret_cast<VkDeviceAddress>(object_of<Buffer>(info->buffer).data);
}

// VulkanMemoryAllocator wants these functions to exist. The device has no images.
VkResult CreateImage(VkDevice, const VkImageCreateInfo*, const VkAllocationCallbacks*, VkImage*) {
    return VK_ERROR_FORMAT_NOT_SUPPORTED;
}
void DestroyImage(VkDevice, VkImage, const VkAllocationCallbacks*) {}
void GetImageMemoryRequirements(VkDevice, VkImage, VkMemoryRequirements*) {}
void GetImageMemoryRequirements2(VkDevice, const VkImageMemoryRequirementsInfo2*, VkMemoryRequirements2*) {}
void GetDeviceImageMemoryRequirements(VkDevice, const VkDeviceImageMemoryRequirements*, VkMemoryRequirements2*) {}
VkResult BindImageMemory(VkDevice, VkImage, VkDeviceMemory, VkDeviceSize) { return VK_ERROR_FORMAT_NOT_SUPPORTED; }
VkResult BindImageMemory2(VkDevice, std::uint32_t, const VkBindImageMemoryInfo*) {
    return VK_ERROR_FORMAT_NOT_SUPPORTED;
}

// ---- semaphores, fences, queries -----------------------------------------------------------------------------------

VkResult CreateSemaphore(VkDevice, const VkSemaphoreCreateInfo* info, const VkAllocationCallbacks*, VkSemaphore* made) {
    std::uint64_t value = 0;
    for (auto* link = static_cast<const VkBaseInStructure*>(info->pNext); link != nullptr; link = link->pNext)
        if (link->sType == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)
            value = reinterpret_cast<const VkSemaphoreTypeCreateInfo*>(link)->initialValue;
    return make<Semaphore>(made, value);
}
void DestroySemaphore(VkDevice, VkSemaphore semaphore, const VkAllocationCallbacks*) { destroy<Semaphore>(semaphore); }
VkResult GetSemaphoreCounterValue(VkDevice, VkSemaphore semaphore, std::uint64_t* value) {
    *value = object_of<Semaphore>(semaphore).value;
    return VK_SUCCESS;
}
VkResult SignalSemaphore(VkDevice, const VkSemaphoreSignalInfo* info) {
    object_of<Semaphore>(info->semaphore).value = info->value;
    return VK_SUCCESS;
}
VkResult WaitSemaphores(VkDevice, const VkSemaphoreWaitInfo* info, std::uint64_t timeout) {
    const auto reached = [&](std::uint32_t i) {
        return object_of<Semaphore>(info->pSemaphores[i]).value >= info->pValues[i];
    };
    const bool any = (info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) != 0;
    return wait_for(timeout, [&] {
        std::uint32_t count = 0;
        for (std::uint32_t i = 0; i < info->semaphoreCount; ++i) count += reached(i) ? 1u : 0u;
        return count == info->semaphoreCount || (any && count != 0);
    });
}

VkResult CreateFence(VkDevice, const VkFenceCreateInfo* info, const VkAllocationCallbacks*, VkFence* made) {
    return make<Fence>(made, (info->flags & VK_FENCE_CREATE_SIGNALED_BIT) != 0);
}
void DestroyFence(VkDevice, VkFence fence, const VkAllocationCallbacks*) { destroy<Fence>(fence); }
VkResult ResetFences(VkDevice, std::uint32_t count, const VkFence* fences) {
    for (VkFence fence : std::span(fences, count)) object_of<Fence>(fence).signalled = false;
    return VK_SUCCESS;
}
VkResult GetFenceStatus(VkDevice, VkFence fence) {
    return object_of<Fence>(fence).signalled ? VK_SUCCESS : VK_NOT_READY;
}
VkResult WaitForFences(VkDevice, std::uint32_t count, const VkFence* fences, VkBool32 all, std::uint64_t timeout) {
    const auto signalled = [](VkFence fence) { return object_of<Fence>(fence).signalled.load(); };
    const std::span<const VkFence> wanted(fences, count);
    return wait_for(timeout, [&] {
        return all == VK_TRUE ? std::ranges::all_of(wanted, signalled) : std::ranges::any_of(wanted, signalled);
    });
}

VkResult CreateQueryPool(VkDevice, const VkQueryPoolCreateInfo* info, const VkAllocationCallbacks*, VkQueryPool* made) {
    return make<QueryPool>(made, std::vector<std::uint64_t>(info->queryCount));
}
void DestroyQueryPool(VkDevice, VkQueryPool pool, const VkAllocationCallbacks*) { destroy<QueryPool>(pool); }
void ResetQueryPool(VkDevice, VkQueryPool pool, std::uint32_t first, std::uint32_t count) {
    std::fill_n(object_of<QueryPool>(pool).ticks.begin() + first, count, 0);
}
/// With VK_QUERY_RESULT_64_BIT and no other flag.
VkResult GetQueryPoolResults(VkDevice, VkQueryPool pool, std::uint32_t first, std::uint32_t count, std::size_t,
                             void* data, VkDeviceSize stride, VkQueryResultFlags) {
    const auto ticks = std::span(object_of<QueryPool>(pool).ticks).subspan(first, count);
    if (std::ranges::count(ticks, 0u) != 0) return VK_NOT_READY;
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(static_cast<std::byte*>(data) + i * stride, &ticks[i], sizeof ticks[i]);
    return VK_SUCCESS;
}

// ---- pipelines -----------------------------------------------------------------------------------------------------

VkResult CreateShaderModule(VkDevice, const VkShaderModuleCreateInfo*, const VkAllocationCallbacks*,
                            VkShaderModule* made) {
    return make<Token>(made);
}
void DestroyShaderModule(VkDevice, VkShaderModule module, const VkAllocationCallbacks*) { destroy<Token>(module); }
VkResult CreatePipelineLayout(VkDevice, const VkPipelineLayoutCreateInfo*, const VkAllocationCallbacks*,
                              VkPipelineLayout* made) {
    return make<Token>(made);
}
void DestroyPipelineLayout(VkDevice, VkPipelineLayout layout, const VkAllocationCallbacks*) { destroy<Token>(layout); }
VkResult CreatePipelineCache(VkDevice, const VkPipelineCacheCreateInfo*, const VkAllocationCallbacks*,
                             VkPipelineCache* made) {
    return make<Token>(made);
}
void DestroyPipelineCache(VkDevice, VkPipelineCache cache, const VkAllocationCallbacks*) { destroy<Token>(cache); }
/// The header that every driver's data begins with, and nothing after it.
VkResult GetPipelineCacheData(VkDevice, VkPipelineCache, std::size_t* size, void* data) {
    const VkPipelineCacheHeaderVersionOne header{
        sizeof header, VK_PIPELINE_CACHE_HEADER_VERSION_ONE, 0, 0, {'N', 'u', 'l', 'l', ' ', 'd', 'e', 'v'}};
    if (data != nullptr) std::memcpy(data, &header, std::min(*size, sizeof header));
    const bool whole = data == nullptr || *size >= sizeof header;
    *size = data == nullptr ? sizeof header : std::min(*size, sizeof header);
    return whole ? VK_SUCCESS : VK_INCOMPLETE;
}
VkResult MergePipelineCaches(VkDevice, VkPipelineCache, std::uint32_t, const VkPipelineCache*) { return VK_SUCCESS; }
VkResult CreateComputePipelines(VkDevice, VkPipelineCache, std::uint32_t count, const VkComputePipelineCreateInfo*,
                                const VkAllocationCallbacks*, VkPipeline* made) {
    for (VkPipeline& pipeline : std::span(made, count)) make<Token>(&pipeline);
    return VK_SUCCESS;
}
void DestroyPipeline(VkDevice, VkPipeline pipeline, const VkAllocationCallbacks*) { destroy<Token>(pipeline); }

// ---- command buffers -----------------------------------------------------------------------------------------------

VkResult CreateCommandPool(VkDevice, const VkCommandPoolCreateInfo*, const VkAllocationCallbacks*,
                           VkCommandPool* made) {
    return make<CommandPool>(made);
}
void DestroyCommandPool(VkDevice, VkCommandPool pool, const VkAllocationCallbacks*) { destroy<CommandPool>(pool); }
VkResult ResetCommandPool(VkDevice, VkCommandPool pool, VkCommandPoolResetFlags) {
    for (const auto& buffer : object_of<CommandPool>(pool).buffers) buffer->commands.clear();
    return VK_SUCCESS;
}
VkResult AllocateCommandBuffers(VkDevice, const VkCommandBufferAllocateInfo* info, VkCommandBuffer* made) {
    auto& buffers = object_of<CommandPool>(info->commandPool).buffers;
    for (VkCommandBuffer& buffer : std::span(made, info->commandBufferCount))
        buffer = handle_of<VkCommandBuffer>(buffers.emplace_back(std::make_unique<CommandBuffer>()).get());
    return VK_SUCCESS;
}
void FreeCommandBuffers(VkDevice, VkCommandPool pool, std::uint32_t count, const VkCommandBuffer* freed) {
    const std::span<const VkCommandBuffer> handles(freed, count);
    std::erase_if(object_of<CommandPool>(pool).buffers, [&](const auto& buffer) {
        return std::ranges::count(handles, handle_of<VkCommandBuffer>(buffer.get())) != 0;
    });
}
VkResult BeginCommandBuffer(VkCommandBuffer commands, const VkCommandBufferBeginInfo*) {
    return ResetCommandBuffer(commands, 0);
}
VkResult EndCommandBuffer(VkCommandBuffer) { return VK_SUCCESS; }
VkResult ResetCommandBuffer(VkCommandBuffer commands, VkCommandBufferResetFlags) {
    object_of<CommandBuffer>(commands).commands.clear();
    return VK_SUCCESS;
}

void CmdBindPipeline(VkCommandBuffer, VkPipelineBindPoint, VkPipeline) {}
void CmdPushConstants(VkCommandBuffer, VkPipelineLayout, VkShaderStageFlags, std::uint32_t, std::uint32_t,
                      const void*) {}
void CmdDispatch(VkCommandBuffer, std::uint32_t, std::uint32_t, std::uint32_t) {}
void CmdDispatchBase(VkCommandBuffer, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                     std::uint32_t) {}
void CmdDispatchIndirect(VkCommandBuffer, VkBuffer, VkDeviceSize) {}
void CmdPipelineBarrier2(VkCommandBuffer, const VkDependencyInfo*) {}

void CmdCopyBuffer(VkCommandBuffer commands, VkBuffer from, VkBuffer to, std::uint32_t count,
                   const VkBufferCopy* regions) {
    for (const VkBufferCopy& region : std::span(regions, count)) {
        record(commands, [=] {
            std::memmove(range(to, region.dstOffset, region.size), range(from, region.srcOffset, region.size),
                         region.size);
        });
    }
}
void CmdFillBuffer(VkCommandBuffer commands, VkBuffer to, VkDeviceSize offset, VkDeviceSize bytes,
                   std::uint32_t pattern) {
    record(commands, [=] {
        const VkDeviceSize size = bytes == VK_WHOLE_SIZE ? (object_of<Buffer>(to).bytes - offset) / 4 * 4 : bytes;
        std::byte* at = range(to, offset, size);
        for (VkDeviceSize i = 0; i < size; i += 4) std::memcpy(at + i, &pattern, 4);
    });
}
void CmdUpdateBuffer(VkCommandBuffer commands, VkBuffer to, VkDeviceSize offset, VkDeviceSize bytes, const void* data) {
    const auto* begin = static_cast<const std::byte*>(data);
    record(commands, [=, copy = std::vector<std::byte>(begin, begin + bytes)] {
        std::memcpy(range(to, offset, bytes), copy.data(), bytes);
    });
}
void CmdResetQueryPool(VkCommandBuffer commands, VkQueryPool pool, std::uint32_t first, std::uint32_t count) {
    record(commands, [=] { ResetQueryPool(VK_NULL_HANDLE, pool, first, count); });
}
void CmdWriteTimestamp2(VkCommandBuffer commands, VkPipelineStageFlags2, VkQueryPool pool, std::uint32_t query) {
    record(commands, [=] { object_of<QueryPool>(pool).ticks.at(query) = clock_ticks += 1000; });
}

}  // namespace null_device
