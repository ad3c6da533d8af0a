// Factors of the modifiers for the focused head: three vectors on the device that grow with the text.
#pragma once

#include "viewer/data/tiles.h"

namespace vantage::view {

class Factors {
public:
    Factors(gpu::DeviceState& device, const LiveModel& live);

    /// Adds what is missing for a head's rows below `rows` to the batch, as far as it fits. Tiles with modifiers become
    /// invalid when the head, the modifiers or the means by distance change. These means are over all rows, or, while
    /// the text grows (`grows`), over complete tiles of rows, so that not every token invalidates all tiles.
    Look advance(const HeadId& head, const ViewSources::Layer& layer, const Modifiers& modifiers, const Extent& extent,
                 std::uint64_t run, bool grows, ViewWork& work);

    /// Takes the results of a finished batch. Returns whether the largest factor of a key changed.
    bool collect();
    /// The largest ‖v‖ of the visible keys; nothing without weighting by value norm, or before it is known.
    std::optional<double> largest_value() const { return largest_; }
    bool complete() const { return !subject_.modifiers.value_weighted || collected_ == keys_ready_; }

private:
    void extend(std::int64_t& ready, std::int64_t to, int kind, const gpu::Buffer& result, double products_each,
                const HeadId& head, const ViewSources::Layer& layer, ViewWork& work);
    struct Subject {
        HeadId head;
        Modifiers modifiers;
        std::uint64_t run = 0;
        std::int64_t expected_rows = 0;  ///< that the means by distance are of
        bool operator==(const Subject&) const = default;
    };
    Subject subject_;
    Extent extent_;
    std::uint32_t number_ = 0;
    std::int64_t keys_ready_ = 0, rows_ready_ = 0, distances_ready_ = 0;
    gpu::DeviceState& device_;
    gpu::Buffer keys_, rows_, distances_, lengths_;
    std::int64_t collected_ = 0;  // lengths of values
    std::optional<double> largest_;
};

}  // namespace vantage::view
