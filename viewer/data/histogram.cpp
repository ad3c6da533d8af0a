#include "viewer/data/histogram.h"

#include <algorithm>
#include <cstring>

#include "runtime/graph/op_def.h"

namespace vantage::view {

namespace {
constexpr std::uint32_t max_workgroups = 64;  // each adds its counts to the others': few of them, with many cells each
}

static_assert(static_cast<int>(AttentionScale::square_root) == VIEW_SQUARE_ROOT &&
              static_cast<int>(AttentionScale::linear) == VIEW_LINEAR &&
              static_cast<int>(AttentionScale::logarithmic) == VIEW_LOGARITHMIC);

params::ViewScale scale_params(AttentionScale scale, const ValueRange& range) {
    return {.value_min = static_cast<float>(range.min),
            .value_max = static_cast<float>(range.max),
            .log_floor = logarithmic_floor,
            .scale = static_cast<std::uint32_t>(scale)};
}

Histogram::Histogram(gpu::DeviceState& device)
    : device_(device),
      map_(gpu::allocate(device, max_map_bytes, gpu::MemoryKind::shared, "view.counted_map")),
      minus_(gpu::allocate(device, max_map_bytes, gpu::MemoryKind::shared, "view.subtracted_map")),
      result_(
          gpu::allocate(device, HISTOGRAM_COUNTS * sizeof(std::uint32_t), gpu::MemoryKind::shared, "view.histogram")) {
    gpu::pipeline(device, {.module = "view_histogram", .spec = {workgroup_size(device.caps(), 64)}});
}

// The map that a frame draws may be another's before a slow batch is done: here it has a copy.
void Histogram::ask(const params::ViewTileMap& map, const params::ViewTileMap& minus, Subject subject, ViewWork& work) {
    current_ = subject == counted_;
    const auto [first_row, first_column, rows, columns] = subject.part;
    const double cells = static_cast<double>(rows) * columns;
    if (current_ || !work.open() || (!work.empty() && work.room(Work::histogram) < cells)) return;
    write_map(map_.mapped(), map, subject.words);
    write_map(minus_.mapped(), minus, subject.minus_words);
    const std::uint64_t subtracted = subject.minus_words.empty() ? absent(map_.address()) : minus_.address();
    std::memset(result_.mapped(), 0, result_.bytes());
    const std::uint32_t lanes = workgroup_size(device_.caps(), 64);
    const std::uint32_t groups =
        std::clamp(ceil_div(static_cast<std::int64_t>(rows) * columns, lanes), 1u, max_workgroups);
    work.add(Work::histogram, {.module = "view_histogram", .spec = {lanes}},
             params::ViewHistogramParams{.map = address_words(map_.address()),
                                         .minus = address_words(subtracted),
                                         .result = address_words(result_.address()),
                                         .bar = scale_params(subject.scale, subject.range),
                                         .first_row = first_row,
                                         .first_column = first_column,
                                         .rows = rows,
                                         .columns = columns,
                                         .peak = subject.pooling == CellPooling::peak},
             {groups, 1, 1}, cells);
    asked_ = std::move(subject);
}

bool Histogram::collect() {
    if (!asked_) return false;
    std::array<std::uint32_t, HISTOGRAM_COUNTS> counts{};
    std::memcpy(counts.data(), result_.mapped(), sizeof counts);
    counted_ = std::exchange(asked_, std::nullopt);
    counts_ = ValueCounts{.differences = !counted_->minus_words.empty(),
                          .scale = counted_->scale,
                          .range = counted_->range,
                          .below = counts.front(),
                          .above = counts.back(),
                          .bins = {counts.begin() + 1, counts.end() - 1}};
    return true;
}

}  // namespace vantage::view
