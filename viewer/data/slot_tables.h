// Tables of slots on the device (shaders/params/view.h).
#pragma once

#include <algorithm>
#include <cstring>

#include "viewer/data/view_data.h"
#include "viewer/data/view_sources.h"

namespace vantage::view {

/// Of one run: of its own tokens, and of its source's. Written while no batch reads them.
class SlotTables {
public:
    /// `max_slots`: 0 where all slots are plain.
    SlotTables(gpu::DeviceState& device, std::int64_t max_slots) : capacity_(static_cast<std::size_t>(max_slots) + 1) {
        if (max_slots > 0)
            buffer_ =
                gpu::allocate(device, 2 * capacity_ * sizeof(std::uint32_t), gpu::MemoryKind::shared, "view.slots");
    }
    void write(const SideSlots& slots) {
        put(0, slots.own), put(capacity_, slots.source);
        own_plain_ = slots.own.plain(), source_plain_ = slots.source.plain();
    }
    /// Absent for plain slots.
    params::uvec2 rows_of(AttentionKind kind) const { return kind == AttentionKind::encoder ? source() : own(); }
    params::uvec2 keys_of(AttentionKind kind) const { return kind == AttentionKind::self ? own() : source(); }

private:
    params::uvec2 own() const { return own_plain_ ? params::uvec2{} : address_words(buffer_.address()); }
    params::uvec2 source() const {
        return source_plain_ ? params::uvec2{} : address_words(buffer_.address() + capacity_ * sizeof(std::uint32_t));
    }
    void put(std::size_t first, const Slots& slots) {
        const std::size_t count = std::min(slots.before.size(), buffer_ ? capacity_ : 0);
        if (count > 0)
            std::memcpy(buffer_.mapped() + first * sizeof(std::uint32_t), slots.before.data(),
                        count * sizeof(std::uint32_t));
    }
    std::size_t capacity_;
    gpu::Buffer buffer_;
    bool own_plain_ = true, source_plain_ = true;
};

}  // namespace vantage::view
