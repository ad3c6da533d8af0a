// What a Buffer holds, for the files of this directory that make buffers.
#pragma once

#include <memory>
#include <string>

#include "runtime/gpu/buffer.h"
#include "runtime/gpu/device_state.h"

namespace vantage::gpu {

struct Buffer::Block : NotCopied {
    DeviceState& device;
    std::string name;
    std::uint64_t bytes;
    std::shared_ptr<DeviceState> keep_alive;  ///< null for buffers that the device itself owns
    VkBuffer buffer = VK_NULL_HANDLE;
    VmaAllocation allocation = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;  ///< instead of `allocation`, for imported and exported memory
    std::uint64_t address = 0;
    std::uint64_t requested = 0;  ///< bytes that were asked for, before rounding; 0 = `bytes`
    std::byte* mapped = nullptr;
    bool cached = false;  ///< the host caches it, so reading it is fast
    MemoryKind kind = MemoryKind::device;
    bool foreign = false;  ///< made by the program: not destroyed with the block

    Block(DeviceState& of, std::string called, std::uint64_t size, bool owned_by_device = false)
        : device(of),
          name(std::move(called)),
          bytes(size),
          keep_alive(owned_by_device ? nullptr : of.shared_from_this()) {}
    ~Block() {
        if (allocation != VK_NULL_HANDLE) device.memory.held -= bytes;
        if (!foreign) device.retire({.buffer = buffer, .allocation = allocation, .memory = memory});
    }
};

/// Gives this directory access to the block of a Buffer.
struct BufferAccess {
    static const Buffer::Block& block(const Buffer& buffer) { return *buffer.block_; }
    static Buffer wrap(std::shared_ptr<Buffer::Block> block);
};

/// Usage flags of every buffer: any of them can be read, written, copied and hold the grid of an indirect dispatch.
constexpr VkBufferUsageFlags buffer_usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                            VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
                                            VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

/// The size of a buffer for `bytes`. Throws out_of_memory when the device's limits do not allow it.
std::uint64_t checked_size(const DeviceState& device, std::uint64_t bytes, const std::string& name);
std::uint64_t address_of(const DeviceState& device, VkBuffer buffer);

}  // namespace vantage::gpu
