#include "viewer/data/factors.h"

#include <algorithm>

#include "runtime/base/at.h"
#include "runtime/graph/op_def.h"

namespace vantage::view {

Factors::Factors(gpu::DeviceState& device, const LiveModel& live) : device_(device) {
    const auto vector = [&](std::int64_t count, const char* name) {
        return gpu::allocate(device, static_cast<std::uint64_t>(count) * sizeof(float), gpu::MemoryKind::device, name);
    };
    keys_ = vector(live.context(), "view.key_factors");
    rows_ = vector(live.context(), "view.row_factors");
    distances_ = vector(2 * live.context(), "view.distance_means");
    lengths_ = gpu::allocate(device, static_cast<std::uint64_t>(live.context()) * sizeof(float),
                             gpu::MemoryKind::readback, "view.value_lengths");
}

void Factors::extend(std::int64_t& ready, std::int64_t to, int kind, const gpu::Buffer& result, double products_each,
                     const HeadId& head, const ViewSources::Layer& layer, ViewWork& work) {
    const double room = work.room(Work::factors);
    if (ready >= to || room <= 0) return;
    const std::int64_t count =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(room / std::max(products_each, 1.0)), 1, to - ready);
    const bool with_keys = kind != VIEW_KEYS, with_rows = kind == VIEW_DISTANCES;
    const auto words = [&](bool there, const gpu::Buffer& buffer) {
        return address_words(there ? buffer.address() : absent(buffer.address()));
    };
    const Modifiers& m = subject_.modifiers;
    const auto add = [&](const gpu::Buffer& into) {
        work.add(Work::factors, layer.kernel("view_factors"),
                 params::ViewFactorParams{.source = address_words(layer.address),
                                          .result = address_words(into.address()),
                                          .row_factors = words(with_rows && (m.sink_off || m.row_normalised), rows_),
                                          .key_factors = words(with_keys && (m.sink_off || m.value_weighted), keys_),
                                          .head = u32(head.head),
                                          .kind = static_cast<std::uint32_t>(kind),
                                          .first = u32(ready),
                                          .count = u32(count),
                                          .rows = u32(subject_.expected_rows),
                                          .keys = u32(extent_.own_keys),
                                          .sink_off = m.sink_off,
                                          .value_weighted = m.value_weighted,
                                          .row_normalised = m.row_normalised},
                 flat_grid(static_cast<std::uint64_t>(count), device_.caps()),
                 products_each * static_cast<double>(count));
    };
    add(result);
    if (kind == VIEW_KEYS && m.value_weighted) add(lengths_);  // once more, for the host: of a key they cost little
    ready += count;
}

bool Factors::collect() {
    if (complete()) return false;
    const auto* lengths = reinterpret_cast<const float*>(lengths_.mapped());
    const double before = largest_.value_or(0);
    for (; collected_ < keys_ready_; ++collected_)
        largest_ = std::max(largest_.value_or(0), static_cast<double>(lengths[collected_]));
    return largest_ != before;
}

Look Factors::advance(const HeadId& head, const ViewSources::Layer& layer, const Modifiers& modifiers,
                      const Extent& extent, std::uint64_t run, bool grows, ViewWork& work) {
    const std::uint64_t some = keys_.address();
    const params::uvec2 none = address_words(absent(some));
    if (!modifiers.any()) return {0, none, none, none, extent.own_rows};
    const bool whole_tiles = grows && extent.own_rows >= TILE_CELLS;
    const std::int64_t expected = !modifiers.over_expected ? 0
                                  : whole_tiles            ? extent.own_rows / TILE_CELLS * TILE_CELLS
                                                           : extent.own_rows;
    if (const Subject now{head, modifiers, run, expected}; !(now == subject_) || number_ == 0) {
        subject_ = now;
        keys_ready_ = rows_ready_ = distances_ready_ = collected_ = 0;
        largest_.reset();
        ++number_;
    }
    extent_ = extent;
    const bool by_key = modifiers.sink_off || modifiers.value_weighted,
               by_row = modifiers.sink_off || modifiers.row_normalised;
    const auto width = static_cast<double>(layer.sizes.d),
               seen = static_cast<double>(extent.own_keys) * (layer.causal ? 0.5 : 1);
    if (by_key) extend(keys_ready_, extent.own_keys, VIEW_KEYS, keys_, width, head, layer, work);
    const bool keys_done = !by_key || keys_ready_ >= extent.own_keys;
    if (by_row && keys_done) extend(rows_ready_, extent.own_rows, VIEW_ROWS, rows_, width * seen, head, layer, work);
    const bool rows_done = !by_row || rows_ready_ >= extent.own_rows;
    const std::int64_t m = layer.sizes.m, first = m - (layer.causal ? 0 : extent.own_keys - 1),
                       last = m + extent.own_rows;
    if (modifiers.over_expected && keys_done && rows_done) {
        distances_ready_ = std::max(distances_ready_, first);
        extend(distances_ready_, last, VIEW_DISTANCES, distances_, width * seen, head, layer, work);
    }
    const bool ready = keys_done && (!modifiers.over_expected || (rows_done && distances_ready_ >= last));
    const auto words = [&](bool there, const gpu::Buffer& buffer) {
        return there ? address_words(buffer.address()) : none;
    };
    return {number_, words(by_row, rows_), words(by_key, keys_), words(modifiers.over_expected, distances_),
            !ready   ? 0
            : by_row ? rows_ready_
                     : extent.own_rows};
}

}  // namespace vantage::view
