#include "runtime/gpu/transfer.h"

#include <algorithm>
#include <cstring>

#include "runtime/gpu/buffer_block.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/recording.h"

namespace vantage::gpu {
namespace {

// Bytes. The host reads uncached memory at only about 100 MB/s, so larger reads are copied by the device first.
constexpr std::size_t small_read = 4096;

/// True when the host may access the buffer's memory directly. Waits for the device if the kind of buffer requires it.
bool direct(DeviceState& device, const Buffer& buffer) {
    const Buffer::Block& block = BufferAccess::block(buffer);
    if (block.mapped == nullptr) return false;
    if (block.kind != MemoryKind::device) return true;
    if (!device.staging->direct_mapping) return false;
    wait(device, device.queue.submitted);
    return true;
}

}  // namespace

Staging::Slot& Staging::ready(std::array<Slot, 2>& slots, std::size_t piece, std::uint64_t bytes, MemoryKind kind) {
    Slot& slot = slots[piece % 2];
    if (slot.done != 0) wait(device_, slot.done);
    if (!slot.buffer || slot.buffer.bytes() < bytes) {
        // Small copies get a buffer of 1 MiB. It is replaced by one of a whole piece when needed.
        const std::uint64_t size = std::max<std::uint64_t>(bytes, std::min<std::uint64_t>(piece_bytes, 1u << 20));
        slot.buffer = allocate(device_, size, kind, kind == MemoryKind::upload ? "staging up" : "staging down", true);
    }
    return slot;
}

void Staging::copy(Slot& slot, const Buffer& from, std::uint64_t from_offset, const Buffer& to, std::uint64_t to_offset,
                   std::uint64_t bytes) {
    Recording recording(device_, "staging");
    recording.copy(from, from_offset, to, to_offset, bytes);
    recording.end();
    slot.done = submit(device_, recording);
}

void Staging::upload(const Buffer& to, std::uint64_t offset, std::uint64_t bytes, const FillBytes& fill) {
    std::uint64_t last = 0;
    for (std::uint64_t begin = 0, piece = 0; begin < bytes; begin += piece_bytes, ++piece) {
        const std::lock_guard lock(up_mutex_);  // not for all of it: `fill` may read a slow disk
        const std::uint64_t size = std::min(piece_bytes, bytes - begin);
        Slot& slot = ready(up_, piece, size, MemoryKind::upload);
        fill(begin, {slot.buffer.mapped(), static_cast<std::size_t>(size)});
        copy(slot, slot.buffer, 0, to, offset + begin, size);
        last = slot.done;
    }
    wait(device_, last);
}

void Staging::download(const Buffer& from, std::uint64_t offset, std::span<std::byte> bytes) {
    const std::lock_guard lock(down_mutex_);
    const std::size_t pieces = (bytes.size() + piece_bytes - 1) / piece_bytes;
    const auto part = [&](std::size_t piece) {
        const std::span<std::byte> rest = bytes.subspan(piece * piece_bytes);
        return rest.first(std::min<std::size_t>(piece_bytes, rest.size()));
    };
    const auto begin = [&](std::size_t piece) {
        Slot& slot = ready(down_, piece, part(piece).size(), MemoryKind::readback);
        copy(slot, from, offset + piece * piece_bytes, slot.buffer, 0, part(piece).size());
    };
    if (pieces != 0) begin(0);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        if (piece + 1 < pieces) begin(piece + 1);
        const Slot& slot = down_[piece % 2];
        wait(device_, slot.done);
        std::memcpy(part(piece).data(), slot.buffer.mapped(), part(piece).size());
    }
}

void upload(DeviceState& device, const Buffer& to, std::uint64_t offset, std::uint64_t bytes, const FillBytes& fill) {
    require_range(to, offset, bytes, "upload to");
    if (bytes == 0) return;
    if (direct(device, to))
        fill(0, {to.mapped() + offset, static_cast<std::size_t>(bytes)});
    else
        device.staging->upload(to, offset, bytes, fill);
}

void upload(DeviceState& device, const Buffer& to, std::uint64_t offset, std::span<const std::byte> bytes) {
    upload(device, to, offset, bytes.size(), [&](std::uint64_t first, std::span<std::byte> piece) {
        std::memcpy(piece.data(), bytes.data() + first, piece.size());
    });
}

void download(DeviceState& device, const Buffer& from, std::uint64_t offset, std::span<std::byte> bytes) {
    require_range(from, offset, bytes.size(), "download from");
    if (bytes.empty()) return;
    const bool readable = BufferAccess::block(from).cached || bytes.size() <= small_read;
    if (readable && direct(device, from))
        std::memcpy(bytes.data(), from.mapped() + offset, bytes.size());
    else
        device.staging->download(from, offset, bytes);
}

void fill(DeviceState& device, const Buffer& to, std::uint64_t offset, std::uint64_t bytes, std::uint32_t pattern) {
    Recording recording(device, "fill");
    recording.fill(to, offset, bytes, pattern);
    recording.end();
    wait(device, submit(device, recording));
}

}  // namespace vantage::gpu
