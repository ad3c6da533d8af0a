// Copies between host and device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>

#include "runtime/gpu/buffer.h"

namespace vantage::gpu {

/// Copies bytes to a buffer and back: directly where the host maps the buffer, else in pieces through staging buffers.
/// Both return when the bytes have arrived. A copy of a buffer of kind `device` comes after all work submitted so far.
/// The other kinds are made for access while work is in flight, so there the caller waits for what it needs.
/// Thread-safe.
void upload(DeviceState& device, const Buffer& to, std::uint64_t offset, std::span<const std::byte> bytes);
/// Writes bytes [first, first + to.size()) of an upload to `to`, which the host may write but should not read.
using FillBytes = std::function<void(std::uint64_t first, std::span<std::byte> to)>;
/// The same for `bytes` bytes that `fill` writes piece by piece, in order.
void upload(DeviceState& device, const Buffer& to, std::uint64_t offset, std::uint64_t bytes, const FillBytes& fill);
void download(DeviceState& device, const Buffer& from, std::uint64_t offset, std::span<std::byte> bytes);
/// Fills `bytes` from `offset` (both multiples of 4) with a 32-bit pattern, and waits until it is done.
void fill(DeviceState& device, const Buffer& to, std::uint64_t offset, std::uint64_t bytes, std::uint32_t pattern);

/// Copies through small host-visible buffers, two for each direction: the device copies one while the host writes or
/// reads the other. Thread-safe: uploads of several threads alternate, and downloads wait for none of them.
class Staging {
public:
    explicit Staging(DeviceState& device) : device_(device) {}
    void upload(const Buffer& to, std::uint64_t offset, std::uint64_t bytes, const FillBytes& fill);
    void download(const Buffer& from, std::uint64_t offset, std::span<std::byte> bytes);

    /// Bytes per copy. Tests make it small.
    std::uint64_t piece_bytes = 16ull << 20;
    /// False: buffers of kind `device` always go through staging, even if the host maps them. For tests.
    bool direct_mapping = true;

private:
    struct Slot {
        Buffer buffer;
        std::uint64_t done = 0;  ///< timeline value at which the host may access the buffer again
    };
    Slot& ready(std::array<Slot, 2>& slots, std::size_t piece, std::uint64_t bytes, MemoryKind kind);
    void copy(Slot& slot, const Buffer& from, std::uint64_t from_offset, const Buffer& to, std::uint64_t to_offset,
              std::uint64_t bytes);

    DeviceState& device_;
    std::mutex up_mutex_, down_mutex_;
    std::array<Slot, 2> up_, down_;
};

}  // namespace vantage::gpu
