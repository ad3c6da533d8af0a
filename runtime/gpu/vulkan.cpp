// The opt-in API for programs that bring or share a Vulkan device: include/vantage/vulkan.h.
#include "vantage/vulkan.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/options.h"
#include "runtime/base/version.h"
#include "runtime/gpu/buffer_block.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/instance.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/third_party_vma.h"

namespace vantage {
namespace {

using gpu::DeviceState;
using gpu::vk_struct;

constexpr auto memory_handle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
constexpr auto semaphore_handle = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;

[[noreturn]] void throw_missing(const DeviceState& device, const char* what) {
    throw unsupported_error("{} cannot share {} as a file descriptor ({} {})", device.caps().name, what,
                            device.caps().driver, device.caps().driver_version);
}

void require_shared_memory(const DeviceState& device, VkExternalMemoryFeatureFlags wanted) {
    auto info = vk_struct<VkPhysicalDeviceExternalBufferInfo>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO);
    info.usage = gpu::buffer_usage;
    info.handleType = memory_handle;
    auto found = vk_struct<VkExternalBufferProperties>(VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES);
    if (device.parts.external_memory) vkGetPhysicalDeviceExternalBufferProperties(device.parts.physical, &info, &found);
    if ((found.externalMemoryProperties.externalMemoryFeatures & wanted) != wanted) throw_missing(device, "memory");
}

void require_shared_timeline(const DeviceState& device, VkExternalSemaphoreFeatureFlags wanted) {
    auto type = vk_struct<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    auto info =
        vk_struct<VkPhysicalDeviceExternalSemaphoreInfo>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO);
    info.pNext = &type;
    info.handleType = semaphore_handle;
    auto found = vk_struct<VkExternalSemaphoreProperties>(VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES);
    if (device.parts.external_semaphore)
        vkGetPhysicalDeviceExternalSemaphoreProperties(device.parts.physical, &info, &found);
    if ((found.externalSemaphoreFeatures & wanted) != wanted) throw_missing(device, "timelines");
}

/// The first device-local memory type that the buffer may have.
std::uint32_t memory_type(const DeviceState& device, std::uint32_t allowed) {
    const VkPhysicalDeviceMemoryProperties* memory = nullptr;
    vmaGetMemoryProperties(device.memory.allocator, &memory);
    for (std::uint32_t i = 0; i < memory->memoryTypeCount; ++i) {
        const bool local = (memory->memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
        if ((allowed >> i & 1u) != 0 && local) return i;
    }
    throw_missing(device, "device-local memory");
}

/// A buffer with memory of its own: shared memory cannot be cut from the allocator's blocks. `import` is -1 to make new
/// memory, else a descriptor.
std::shared_ptr<gpu::Buffer> make_shared_buffer(DeviceState& device, std::uint64_t bytes, const std::string& name,
                                                int import) {
    device.require_alive();
    require_shared_memory(
        device, import < 0 ? VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT : VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT);
    auto block = std::make_shared<gpu::Buffer::Block>(device, name, gpu::checked_size(device, bytes, name));
    auto external = vk_struct<VkExternalMemoryBufferCreateInfo>(VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    external.handleTypes = memory_handle;
    auto info = vk_struct<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
    info.pNext = &external;
    info.size = block->bytes;
    info.usage = gpu::buffer_usage;
    VK_CHECK(vkCreateBuffer(device.device, &info, nullptr, &block->buffer));
    VkMemoryRequirements needs{};
    vkGetBufferMemoryRequirements(device.device, block->buffer, &needs);

    auto to_export = vk_struct<VkExportMemoryAllocateInfo>(VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    to_export.handleTypes = memory_handle;
    auto to_import = vk_struct<VkImportMemoryFdInfoKHR>(VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    to_import.handleType = memory_handle;
    to_import.fd = import;
    auto alone = vk_struct<VkMemoryDedicatedAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    alone.buffer = block->buffer;
    alone.pNext = import < 0 ? static_cast<const void*>(&to_export) : &to_import;
    auto flags = vk_struct<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    flags.pNext = &alone;
    auto memory = vk_struct<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    memory.pNext = &flags;
    memory.allocationSize = needs.size;
    memory.memoryTypeIndex = memory_type(device, needs.memoryTypeBits);
    VK_CHECK_AS(allocate, vkAllocateMemory(device.device, &memory, nullptr, &block->memory));
    VK_CHECK(vkBindBufferMemory(device.device, block->buffer, block->memory, 0));
    device.set_name(VK_OBJECT_TYPE_BUFFER, block->buffer, name);
    device.set_name(VK_OBJECT_TYPE_DEVICE_MEMORY, block->memory, name);
    block->address = gpu::address_of(device, block->buffer);
    return std::make_shared<gpu::Buffer>(gpu::BufferAccess::wrap(std::move(block)));
}

}  // namespace

Device adopt(const VulkanHandles& handles, const std::vector<const char*>& extensions) {
    const auto enabled = [&](std::string_view name) { return std::ranges::count(extensions, name) != 0; };
    gpu::DeviceParts parts{handles};
    Caps caps = read_caps(handles.physical);
    caps.memory_budget = caps.memory_budget && enabled(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    if (!enabled(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME)) caps.cooperative_matrices.clear();
    caps.cooperative_matrix2 = caps.cooperative_matrix2 && enabled(gpu::matrix2_extension);
    caps.float_dot = caps.float_dot && enabled(gpu::float_dot_extension);
    if (const std::vector<std::string> missing = missing_requirements(caps); !missing.empty())
        throw Error(ErrorKind::no_device, format("{} cannot be used: it lacks {}", caps.name, join(missing)));
    parts.caps = caps_with_quirks(caps, gpu::quirks_here(caps));
    parts.external_memory = enabled(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    parts.external_semaphore = enabled(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
    return Device(DeviceState::adopt(std::move(parts)));
}

VulkanHandles handles(const Device& device) { return device.state().parts; }

std::unique_lock<std::mutex> lock_queue(const Device& device) { return std::unique_lock(device.state().queue.mutex); }

TimelinePoint timeline(const Device& device) { return {device.state().queue.timeline, device.state().queue.submitted}; }

BufferView view_of(const Device& device, VkBuffer buffer, std::uint64_t bytes, std::uint64_t offset) {
    if (buffer == VK_NULL_HANDLE) throw usage_error("view_of: the buffer is VK_NULL_HANDLE");
    return {buffer, offset, bytes, gpu::address_of(device.state(), buffer) + offset, {}};
}

SharedBuffer SharedBuffer::create(const Device& device, std::uint64_t bytes, const std::string& name) {
    return SharedBuffer(make_shared_buffer(device.state(), bytes, name, -1));
}

SharedBuffer SharedBuffer::import_memory(const Device& device, int fd, std::uint64_t bytes, const std::string& name) {
    if (fd < 0) throw usage_error("import of '{}': not a file descriptor: {}", name, fd);
    return SharedBuffer(make_shared_buffer(device.state(), bytes, name, fd));
}

int SharedBuffer::export_memory() const {
    const gpu::Buffer::Block& block = gpu::BufferAccess::block(*buffer_);
    auto info = vk_struct<VkMemoryGetFdInfoKHR>(VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR);
    info.memory = block.memory;
    info.handleType = memory_handle;
    int fd = -1;
    VK_CHECK(vkGetMemoryFdKHR(block.device.device, &info, &fd));
    return fd;
}

std::uint64_t SharedBuffer::address() const { return buffer_->address(); }
std::uint64_t SharedBuffer::bytes() const { return buffer_->bytes(); }
VkBuffer SharedBuffer::handle() const { return buffer_->handle(); }
BufferView SharedBuffer::view() const { return {handle(), 0, bytes(), address(), buffer_}; }

struct SharedTimeline::State {
    std::shared_ptr<DeviceState> device;
    VkSemaphore semaphore;
    State(std::shared_ptr<DeviceState> owner, const std::string& name, const void* next)
        : device(std::move(owner)), semaphore(device->make_timeline(name, next)) {}
    ~State() {
        gpu::wait_idle(*device);  // our own work may still wait for it
        vkDestroySemaphore(device->device, semaphore, nullptr);
    }
};

SharedTimeline SharedTimeline::create(const Device& device, const std::string& name) {
    require_shared_timeline(device.state(), VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT);
    auto to_export = vk_struct<VkExportSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO);
    to_export.handleTypes = semaphore_handle;
    return SharedTimeline(std::make_shared<State>(device.shared_state(), name, &to_export));
}

SharedTimeline SharedTimeline::import_handle(const Device& device, int fd, const std::string& name) {
    if (fd < 0) throw usage_error("'{}': {} is no file descriptor", name, fd);
    require_shared_timeline(device.state(), VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT);
    auto state = std::make_shared<State>(device.shared_state(), name, nullptr);
    auto handle = vk_struct<VkImportSemaphoreFdInfoKHR>(VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR);
    handle.semaphore = state->semaphore;
    handle.handleType = semaphore_handle;
    handle.fd = fd;
    VK_CHECK(vkImportSemaphoreFdKHR(state->device->device, &handle));
    return SharedTimeline(std::move(state));
}

int SharedTimeline::export_handle() const {
    auto info = vk_struct<VkSemaphoreGetFdInfoKHR>(VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR);
    info.semaphore = state_->semaphore;
    info.handleType = semaphore_handle;
    int fd = -1;
    VK_CHECK(vkGetSemaphoreFdKHR(state_->device->device, &info, &fd));
    return fd;
}

VkSemaphore SharedTimeline::handle() const { return state_->semaphore; }

}  // namespace vantage
