// Copies between host and device through small host-visible buffers, two in turn: while one is copied by the device, the
// other is filled or emptied by the host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/gpu/memory.h"

namespace vantage::gpu {

/// Not thread-safe: callers hold `DeviceState::staging_mutex`.
class Staging {
public:
    explicit Staging(DeviceState& device) : device_(device) {}
    void upload(const Buffer& to, std::uint64_t offset, std::span<const std::byte> bytes);
    void download(const Buffer& from, std::uint64_t offset, std::span<std::byte> bytes);

private:
    struct Slot {
        Buffer buffer;
        std::uint64_t done = 0;  ///< timeline value after which the host may touch the buffer
    };
    Slot& ready(std::array<Slot, 2>& slots, std::size_t piece, std::uint64_t bytes, MemoryKind kind);
    void copy(Slot& slot, const Buffer& from, std::uint64_t from_offset, const Buffer& to, std::uint64_t to_offset,
              std::uint64_t bytes);

    DeviceState& device_;
    std::array<Slot, 2> up_, down_;
};

}  // namespace vantage::gpu
