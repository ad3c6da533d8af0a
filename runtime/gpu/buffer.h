// Device memory: reference-counted buffers with a 64-bit address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/gpu/vulkan_calls.h"

namespace vantage::gpu {

class DeviceState;

/// Where a buffer is placed.
enum class MemoryKind : std::uint8_t {
    /// The fastest for the device. The host maps it on unified memory only.
    device,
    /// The host writes, the device reads.
    upload,
    /// The device writes, the host reads: memory that the host caches.
    readback,
    /// Host-visible and coherent, device-local where the device has such memory. Host and device both access it while
    /// work is in flight. For small buffers.
    shared,
};

/// A VkBuffer with its memory and address. Copies share it. When the last copy is gone, it is freed as soon as the
/// device has finished what was submitted until then.
class Buffer {
public:
    struct Block;
    Buffer() = default;
    explicit operator bool() const { return block_ != nullptr; }
    std::uint64_t address() const;
    std::uint64_t bytes() const;
    /// Bytes that were asked for, before they were rounded up.
    std::uint64_t requested_bytes() const;
    /// The host's pointer to the memory, or null.
    std::byte* mapped() const;
    VkBuffer handle() const;
    const std::string& name() const;

private:
    friend struct BufferAccess;
    std::shared_ptr<Block> block_;
};

/// Allocates `bytes`, rounded up to a multiple of 16, at an address that is a multiple of 256. Large buffers are
/// checked against the memory budget first. Throws out_of_memory with the name, the size and the size available. Counts
/// as one allocation in `call_counts()`. A buffer with `owned_by_device` does not keep the device alive, because the
/// device holds it. Thread-safe.
Buffer allocate(DeviceState& device, std::uint64_t bytes, MemoryKind kind, const std::string& name,
                bool owned_by_device = false);

/// Wraps a buffer that the program made on the same VkDevice; it is not destroyed from here. `address` is that of its
/// first byte.
Buffer wrap_foreign(DeviceState& device, VkBuffer handle, std::uint64_t bytes, std::uint64_t address,
                    const std::string& name);

/// Throws `failure` when `bytes` from `offset` are not inside the buffer. `what` is the operation, for the message.
void require_range(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes, const char* what);

}  // namespace vantage::gpu
