#include "runtime/gpu/buffer.h"

#include <algorithm>

#include "runtime/base/format.h"
#include "runtime/gpu/buffer_block.h"
#include "runtime/gpu/faults.h"
#include "runtime/gpu/third_party_vma.h"

namespace vantage::gpu {
namespace {

// Bytes from which an allocation is checked against the memory budget.
constexpr std::uint64_t large = 16ull << 20;
// Of addresses: enough for vec4 loads and for copies on every device.
constexpr std::uint64_t alignment = 256;

[[noreturn]] void throw_out_of_memory(const DeviceState& device, std::uint64_t wanted, const std::string& name) {
    throw Error(
        ErrorKind::out_of_memory,
        format("out of device memory: '{}' needs {} ({} bytes), {} of {} are available on {}; use a smaller model or "
               "context, or close other programs",
               name, bytes_text(wanted), wanted, bytes_text(device.memory_available()),
               bytes_text(device.caps().device_memory), device.caps().name));
}

VmaAllocationCreateInfo allocation_info(const DeviceState& device, MemoryKind kind) {
    constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VmaAllocationCreateInfo info{};
    info.usage = VMA_MEMORY_USAGE_UNKNOWN;  // the flags below decide
    switch (kind) {
        case MemoryKind::device:
            info.preferredFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
            // If device and host memory are separate, running out must be an error, not a silent use of slow memory.
            if (!device.caps().unified_memory) info.requiredFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
            // Not HOST_CACHED, which is slower for the device on some integrated GPUs. Large reads use staging.
            if (device.caps().unified_memory) info.preferredFlags |= host;
            break;
        case MemoryKind::upload: info.requiredFlags = host; break;
        case MemoryKind::readback:
            info.requiredFlags = host;
            info.preferredFlags = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
            break;
        case MemoryKind::shared:
            info.requiredFlags = host;
            info.preferredFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
            break;
    }
    // VMA maps the memory only if it is host-visible.
    if (kind != MemoryKind::device || device.caps().unified_memory) info.flags = VMA_ALLOCATION_CREATE_MAPPED_BIT;
    return info;
}

/// Tries once. Returns VK_ERROR_OUT_OF_… instead of throwing.
VkResult create(const DeviceState& device, Buffer::Block& block) {
    auto buffer_info = vk_struct<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
    buffer_info.size = block.bytes;
    buffer_info.usage = buffer_usage;
    const VmaAllocationCreateInfo info = allocation_info(device, block.kind);
    VmaAllocationInfo found{};
    const VkResult result =
        VK_RESULT_AS(allocate, vmaCreateBufferWithAlignment(device.memory.allocator, &buffer_info, &info, alignment,
                                                            &block.buffer, &block.allocation, &found));
    if (result != VK_SUCCESS) return result;
    VkMemoryPropertyFlags flags = 0;
    vmaGetMemoryTypeProperties(device.memory.allocator, found.memoryType, &flags);
    const bool coherent = (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
    block.mapped = coherent ? static_cast<std::byte*>(found.pMappedData) : nullptr;
    block.cached = (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
    return result;
}

void note_held(MemoryState& memory, std::uint64_t more) {
    const std::uint64_t now = memory.held += more;
    std::uint64_t highest = memory.max_held;
    while (highest < now && !memory.max_held.compare_exchange_weak(highest, now)) {
    }
}

bool is_out_of_memory(VkResult result) {
    return result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY;
}

}  // namespace

std::uint64_t Buffer::address() const { return block_->address; }
std::uint64_t Buffer::bytes() const { return block_->bytes; }
std::uint64_t Buffer::requested_bytes() const { return block_->requested > 0 ? block_->requested : block_->bytes; }
std::byte* Buffer::mapped() const { return block_->mapped; }
VkBuffer Buffer::handle() const { return block_->buffer; }
const std::string& Buffer::name() const { return block_->name; }

Buffer BufferAccess::wrap(std::shared_ptr<Buffer::Block> block) {
    Buffer buffer;
    buffer.block_ = std::move(block);
    return buffer;
}

std::uint64_t address_of(const DeviceState& device, VkBuffer buffer) {
    auto info = vk_struct<VkBufferDeviceAddressInfo>(VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO);
    info.buffer = buffer;
    return vkGetBufferDeviceAddress(device.device, &info);
}

std::uint64_t checked_size(const DeviceState& device, std::uint64_t bytes, const std::string& name) {
    const std::uint64_t maximum = std::min(device.caps().max_allocation, device.caps().max_buffer);
    if (bytes > maximum)
        throw Error(
            ErrorKind::out_of_memory,
            format("'{}' needs {} ({} bytes) in one buffer, the driver of {} allows at most {}; use a smaller model or "
                   "context",
                   name, bytes_text(bytes), bytes, device.caps().name, bytes_text(maximum)));
    return std::max<std::uint64_t>(16, (bytes + 15) / 16 * 16);
}

void require_range(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes, const char* what) {
    if (offset <= buffer.bytes() && bytes <= buffer.bytes() - offset) return;
    throw Error(ErrorKind::failure, format("{} '{}': bytes {} to {}, but it has {}", what, buffer.name(), offset,
                                           offset + bytes, buffer.bytes()));
}

Buffer allocate(DeviceState& device, std::uint64_t bytes, MemoryKind kind, const std::string& name,
                bool owned_by_device) {
    device.require_alive();
    device.collect();
    auto block = std::make_shared<Buffer::Block>(device, name, checked_size(device, bytes, name), owned_by_device);
    block->requested = bytes;
    block->kind = kind;
    const bool counts = kind == MemoryKind::device || device.caps().unified_memory;
    if (counts && block->bytes > large && block->bytes > device.memory_available()) {
        // Buffers that were released while the device was running may still hold the memory.
        static_cast<void>(device.quiesce(10));
        device.collect();
        if (block->bytes > device.memory_available()) throw_out_of_memory(device, bytes, name);
    }
    const VkResult result = create(device, *block);
    if (is_out_of_memory(result)) throw_out_of_memory(device, bytes, name);
    if (failed(result)) throw_vk(result, "vmaCreateBuffer", SourceLocation::here());
    count_allocation();
    note_held(device.memory, block->bytes);
    block->address = address_of(device, block->buffer);
    if (block->address % alignment != 0)
        throw Error(ErrorKind::failure, format("{} gave '{}' the address {:x}, which must be a multiple of {}",
                                               device.caps().name, name, block->address, alignment));
    device.set_name(VK_OBJECT_TYPE_BUFFER, block->buffer, name);
    vmaSetAllocationName(device.memory.allocator, block->allocation, name.c_str());
    return BufferAccess::wrap(std::move(block));
}

Buffer wrap_foreign(DeviceState& device, VkBuffer handle, std::uint64_t bytes, std::uint64_t address,
                    const std::string& name) {
    auto block = std::make_shared<Buffer::Block>(device, name, bytes);
    block->buffer = handle;
    block->address = address;
    block->foreign = true;
    return BufferAccess::wrap(std::move(block));
}

}  // namespace vantage::gpu
