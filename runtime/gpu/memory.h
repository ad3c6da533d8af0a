// Device memory: reference-counted buffers with a 64-bit address, and copies in and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/gpu/vk.h"

namespace vantage::gpu {

class DeviceState;

/// Where a buffer lives. `shared` is written and read by both sides while work is in flight: small things only.
enum class MemoryKind : std::uint8_t {
    device,    ///< the fastest for the device; the host maps it on unified memory only
    upload,    ///< the host writes, the device reads
    readback,  ///< the device writes, the host reads (cached on the host)
    shared,    ///< host-visible and coherent, device-local where the device has such memory
};

/// A VkBuffer with its memory and address. Copies share it; the last one frees it, as soon as the device is done with
/// what was submitted until then.
class Buffer {
public:
    struct Block;
    Buffer() = default;
    explicit operator bool() const { return block_ != nullptr; }
    std::uint64_t address() const;
    std::uint64_t bytes() const;
    /// Where the host sees it, or null.
    std::byte* mapped() const;
    VkBuffer handle() const;
    const std::string& name() const;

private:
    friend struct BufferAccess;
    std::shared_ptr<Block> block_;
};

/// Memory for `bytes` (rounded up to 16, address aligned to 256). Asks the memory budget first when it is large; throws
/// out_of_memory with the name, the size wanted and the size available. Counts as one allocation in `call_counts()`.
Buffer allocate(DeviceState& device, std::uint64_t bytes, MemoryKind kind, const std::string& name);

/// Throws `failure` when `bytes` from `offset` do not lie inside the buffer; `what` names the deed.
void require_range(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes, const char* what);

/// Host to device and back; by direct copy where the buffer is mapped, else through a staging buffer in pieces.
/// Both return when the bytes are there. For a buffer of kind `device` they come after all work submitted so far; the
/// other kinds are made for access while work is in flight, so there the caller waits for what it needs.
void upload(DeviceState& device, const Buffer& to, std::uint64_t offset, std::span<const std::byte> bytes);
void download(DeviceState& device, const Buffer& from, std::uint64_t offset, std::span<std::byte> bytes);
/// Fills `bytes` (a multiple of 4) from `offset` with a 32-bit pattern.
void fill(DeviceState& device, const Buffer& to, std::uint64_t offset, std::uint64_t bytes, std::uint32_t pattern);

}  // namespace vantage::gpu
