// Maps of tiles on the device (shaders/params/view.h).
#pragma once

#include <cstring>
#include <span>

#include "viewer/data/tiles.h"

namespace vantage::view {

/// Host-visible maps in rotation, so that a frame in flight keeps its own.
class MapRing {
public:
    MapRing(gpu::DeviceState& device, const char* name)
        : buffer_(gpu::allocate(device, maps_in_flight * max_map_bytes, gpu::MemoryKind::shared, name)) {}
    std::uint64_t write(const params::ViewTileMap& map, std::span<const std::uint32_t> words) {
        next_ = (next_ + 1) % maps_in_flight;
        std::byte* to = buffer_.mapped() + next_ * max_map_bytes;
        std::memcpy(to, &map, sizeof map);
        std::memcpy(to + sizeof map, words.data(), words.size_bytes());
        return buffer_.address() + next_ * max_map_bytes;
    }

private:
    static constexpr std::size_t maps_in_flight = 4;  // frames that may still read one
    gpu::Buffer buffer_;
    std::size_t next_ = 0;
};

}  // namespace vantage::view
