// The functions of the null device (see null_device.cpp), each declared with the type that Vulkan gives it.
#pragma once

#include <vulkan/vk_icd.h>
#include <vulkan/vulkan.h>

#include <type_traits>

// clang-format off
/// Functions of the instance.
#define NULL_DEVICE_INSTANCE_FUNCTIONS(F) \
    F(CreateInstance) F(DestroyInstance) F(EnumerateInstanceExtensionProperties) F(EnumerateInstanceVersion) \
    F(EnumeratePhysicalDevices) F(GetInstanceProcAddr) F(CreateDevice) F(EnumerateDeviceExtensionProperties) \
    F(EnumerateDeviceLayerProperties) F(GetPhysicalDeviceFeatures) F(GetPhysicalDeviceFeatures2) \
    F(GetPhysicalDeviceProperties) F(GetPhysicalDeviceProperties2) F(GetPhysicalDeviceMemoryProperties) \
    F(GetPhysicalDeviceMemoryProperties2) F(GetPhysicalDeviceQueueFamilyProperties) \
    F(GetPhysicalDeviceQueueFamilyProperties2) F(GetPhysicalDeviceFormatProperties) \
    F(GetPhysicalDeviceFormatProperties2) F(GetPhysicalDeviceImageFormatProperties) \
    F(GetPhysicalDeviceImageFormatProperties2) F(GetPhysicalDeviceSparseImageFormatProperties) \
    F(GetPhysicalDeviceSparseImageFormatProperties2) F(GetPhysicalDeviceExternalBufferProperties) \
    F(GetPhysicalDeviceExternalSemaphoreProperties) F(GetPhysicalDeviceExternalFenceProperties) \
    F(GetPhysicalDeviceToolProperties)
/// Functions of a device.
#define NULL_DEVICE_DEVICE_FUNCTIONS(F) \
    F(GetDeviceProcAddr) F(DestroyDevice) F(GetDeviceQueue) F(GetDeviceQueue2) F(DeviceWaitIdle) F(QueueWaitIdle) \
    F(QueueSubmit2) F(AllocateMemory) F(FreeMemory) F(MapMemory) F(UnmapMemory) F(FlushMappedMemoryRanges) \
    F(InvalidateMappedMemoryRanges) F(CreateBuffer) F(DestroyBuffer) F(GetBufferMemoryRequirements) \
    F(GetBufferMemoryRequirements2) F(GetDeviceBufferMemoryRequirements) F(BindBufferMemory) F(BindBufferMemory2) \
    F(GetBufferDeviceAddress) F(CreateImage) F(DestroyImage) F(GetImageMemoryRequirements) \
    F(GetImageMemoryRequirements2) F(GetDeviceImageMemoryRequirements) F(BindImageMemory) F(BindImageMemory2) \
    F(CreateSemaphore) F(DestroySemaphore) F(GetSemaphoreCounterValue) F(WaitSemaphores) F(SignalSemaphore) \
    F(CreateFence) F(DestroyFence) F(ResetFences) F(GetFenceStatus) F(WaitForFences) F(CreateQueryPool) \
    F(DestroyQueryPool) F(GetQueryPoolResults) F(ResetQueryPool) F(CreateShaderModule) F(DestroyShaderModule) \
    F(CreatePipelineLayout) F(DestroyPipelineLayout) F(CreatePipelineCache) F(DestroyPipelineCache) \
    F(GetPipelineCacheData) F(MergePipelineCaches) F(CreateComputePipelines) F(DestroyPipeline) F(CreateCommandPool) \
    F(DestroyCommandPool) F(ResetCommandPool) F(AllocateCommandBuffers) F(FreeCommandBuffers) F(BeginCommandBuffer) \
    F(EndCommandBuffer) F(ResetCommandBuffer) F(CmdBindPipeline) F(CmdPushConstants) F(CmdDispatch) \
    F(CmdDispatchBase) F(CmdDispatchIndirect) F(CmdPipelineBarrier2) F(CmdCopyBuffer) F(CmdFillBuffer) \
    F(CmdUpdateBuffer) F(CmdResetQueryPool) F(CmdWriteTimestamp2)
// clang-format on

namespace null_device {

#define NULL_DEVICE_DECLARE(name) std::remove_pointer_t<PFN_vk##name> name;  // NOLINT(bugprone-macro-parentheses)
NULL_DEVICE_INSTANCE_FUNCTIONS(NULL_DEVICE_DECLARE)
NULL_DEVICE_DEVICE_FUNCTIONS(NULL_DEVICE_DECLARE)
#undef NULL_DEVICE_DECLARE

/// Size of the device's memory, and how much of it is allocated.
VkDeviceSize heap_bytes();
VkDeviceSize allocated_bytes();

/// What is behind a handle, and the handle of an object.
template <class Object, class Handle>
Object& object_of(Handle handle) {
    return *reinterpret_cast<Object*>(handle);
}
template <class Handle, class Object>
Handle handle_of(Object* object) {
    return reinterpret_cast<Handle>(object);
}

/// Instances, devices, queues and command buffers begin with a pointer that the loader sets.
struct Dispatchable {
    VK_LOADER_DATA loader{ICD_LOADER_MAGIC};
};

}  // namespace null_device
