// Opt-in: for programs that bring a Vulkan device of their own, or share Vantage's. Needs the Vulkan headers;
// everything else of the API does not.
//
// Threads: any, for all functions. Hold lock_queue() while you use the queue.
// Errors: as said below. A call that throws takes no ownership.
#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "vantage/device.h"

namespace vantage {

namespace gpu {
class Buffer;
}

/// VkPhysicalDeviceCooperativeMatrix2FeaturesNV, which is newer than the headers that Vantage asks for.
struct MatrixFeatures2 {
    VkStructureType sType = static_cast<VkStructureType>(1000593000);
    void* pNext = nullptr;
    VkBool32 workgroup_scope = 0, flexible_dimensions = 0, reductions = 0, conversions = 0, single_elements = 0,
             tensor_addressing = 0, block_loads = 0;
};

/// VkPhysicalDeviceShaderMixedFloatDotProductFeaturesVALVE, which is newer, too.
struct FloatDotFeatures {
    VkStructureType sType = static_cast<VkStructureType>(1000673000);
    void* pNext = nullptr;
    VkBool32 halves_to_float = 0, halves_to_half = 0, bfloat16 = 0, float8_to_float = 0;
};

/// Features and extensions that Vantage uses, as far as `physical` has them: for the VkDeviceCreateInfo of a program
/// that makes the device itself. What is required and missing is named by `missing_requirements(read_caps(physical))`.
///
///     DeviceFeatures wanted(physical);
///     VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, wanted.chain()};
///     info.ppEnabledExtensionNames = wanted.extensions().data();   // add one's own
///
/// Threads: one at a time.
class DeviceFeatures {
public:
    /// With `windows` also VK_KHR_swapchain.
    explicit DeviceFeatures(VkPhysicalDevice physical, bool windows = false);
    DeviceFeatures(const DeviceFeatures&) = delete;
    DeviceFeatures& operator=(const DeviceFeatures&) = delete;
    /// The head of the chain: a VkPhysicalDeviceFeatures2. Valid while this object lives.
    void* chain() { return &head_; }
    const std::vector<const char*>& extensions() const { return extensions_; }
    bool has_extension(const char* name) const;
    /// Whether the driver has it, enabled or not.
    bool supports(const char* name) const;

private:
    VkPhysicalDeviceFeatures2 head_{};
    VkPhysicalDeviceVulkan11Features vulkan11_{};
    VkPhysicalDeviceVulkan12Features vulkan12_{};
    VkPhysicalDeviceVulkan13Features vulkan13_{};
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices_{};
    MatrixFeatures2 matrices2_;
    FloatDotFeatures float_dot_;
    std::vector<const char*> extensions_;
    std::vector<std::string> supported_;
};

/// What the driver says of a device, without Vantage's quirks. An instance must exist (Vantage's or the program's).
Caps read_caps(VkPhysicalDevice physical);

/// A Vulkan device and what belongs to it.
struct VulkanHandles {
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;  ///< with compute
    std::uint32_t queue_family = 0;
};

/// Uses a device that the program made with `DeviceFeatures` enabled (or more); `extensions` are those it enabled. The
/// program destroys device and instance, after the last copy of the Device and of all that was made with it is gone.
/// Throws `no_device` when a requirement is missing.
Device adopt(const VulkanHandles& handles, const std::vector<const char*>& extensions);

/// Opens a device that supports windows. `wish` is as in `Device::open`. `instance_extensions` are those that the
/// window system requires (glfwGetRequiredInstanceExtensions). Also throws `unsupported` for a device that cannot show
/// windows.
Device open_for_windows(const std::string& wish, const std::vector<const char*>& instance_extensions);

/// The handles behind a Device, for drawing or computing beside Vantage. They live as long as the Device.
VulkanHandles handles(const Device& device);
/// The queue is shared: hold this while using it (vkQueueSubmit, vkQueuePresentKHR).
[[nodiscard]] std::unique_lock<std::mutex> lock_queue(const Device& device);

/// A timeline semaphore and a value that it reaches.
struct TimelinePoint {
    VkSemaphore semaphore = VK_NULL_HANDLE;
    std::uint64_t value = 0;
};
/// Vantage's timeline semaphore and the value that it reaches when all work submitted so far is done: a program's own
/// submission waits for it on the device, without the host.
TimelinePoint timeline(const Device& device);

/// Points that a submission waits for on the device (Plan::submit).
struct After {
    std::vector<TimelinePoint> points = {};
};
inline After after(TimelinePoint point) { return {{point}}; }
inline After after(std::vector<TimelinePoint> points) { return {std::move(points)}; }

/// A range of a buffer on the device.
struct BufferView {
    VkBuffer buffer = VK_NULL_HANDLE;
    /// Bytes, in `buffer`.
    std::uint64_t offset = 0, bytes = 0;
    /// The device address of the range's first byte (VkBufferDeviceAddressInfo, plus the offset).
    std::uint64_t address = 0;
    /// Keeps the memory alive where Vantage owns it; null for a program's own buffer.
    std::shared_ptr<const gpu::Buffer> owner = {};
};
/// A buffer of the program on the same VkDevice, made with VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, STORAGE_BUFFER,
/// TRANSFER_SRC and TRANSFER_DST. Throws usage for a null handle.
BufferView view_of(const Device& device, VkBuffer buffer, std::uint64_t bytes, std::uint64_t offset = 0);

/// Device memory with an address that another program or API can share. A handle: copies share the memory, which is
/// freed when the last copy and the last plan that it is bound to are gone, and the device has finished what was
/// submitted until then. Functions throw out_of_memory, and failure with the driver's error.
///
/// Threads: any. A moved-from handle is a copy: it stays valid.
class SharedBuffer {
public:
    SharedBuffer(const SharedBuffer&) = default;
    SharedBuffer& operator=(const SharedBuffer&) = default;
    /// Memory that can be exported. Throws `unsupported` where VK_KHR_external_memory_fd is missing.
    static SharedBuffer create(const Device& device, std::uint64_t bytes, const std::string& name);
    /// Takes over a file descriptor from `export_memory` of the same driver and device, and the size given there; when
    /// it throws, the descriptor still belongs to the caller.
    static SharedBuffer import_memory(const Device& device, int fd, std::uint64_t bytes, const std::string& name);

    /// A new descriptor (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT); the caller closes it or hands it on.
    int export_memory() const;
    std::uint64_t address() const;
    std::uint64_t bytes() const;
    VkBuffer handle() const;
    /// All of it, for Plan::bind.
    BufferView view() const;

private:
    explicit SharedBuffer(std::shared_ptr<gpu::Buffer> buffer) : buffer_(std::move(buffer)) {}
    std::shared_ptr<gpu::Buffer> buffer_;
};

/// A timeline semaphore that another program or API signals or waits for. A handle: it is destroyed with the last copy,
/// after a wait for the device's own work. Functions throw failure with the driver's error.
///
/// Threads: any. A moved-from handle is a copy: it stays valid.
class SharedTimeline {
public:
    SharedTimeline(const SharedTimeline&) = default;
    SharedTimeline& operator=(const SharedTimeline&) = default;
    /// Throws `unsupported` where VK_KHR_external_semaphore_fd is missing.
    static SharedTimeline create(const Device& device, const std::string& name);
    /// Takes over a file descriptor from `export_handle`; when it throws, the descriptor still belongs to the caller.
    static SharedTimeline import_handle(const Device& device, int fd, const std::string& name);
    /// A new descriptor (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT).
    int export_handle() const;
    VkSemaphore handle() const;

private:
    struct State;
    explicit SharedTimeline(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

}  // namespace vantage
