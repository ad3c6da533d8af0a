#include "viewer/data/exact_weights.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/base/at.h"
#include "runtime/graph/op_def.h"

namespace vantage::view {

float Excerpt::at(std::int64_t row, std::int64_t column) const {
    const std::int64_t r = row - first_row, c = column - first_column;
    if (r < 0 || c < 0 || r >= rows || c >= columns) return std::numeric_limits<float>::quiet_NaN();
    return weights[static_cast<std::size_t>(r * columns + c)];
}

ExcerptReader::ExcerptReader(gpu::DeviceState& device, std::int64_t max_values, const char* name)
    : device_(device),
      result_(gpu::allocate(device, static_cast<std::uint64_t>(max_values) * sizeof(float), gpu::MemoryKind::readback,
                            name)) {}

void ExcerptReader::ask(Excerpt wanted, const ViewSources::Layer& layer, const Extent& extent, const Look& look,
                        ViewWork& work) {
    current_ = excerpt_ != nullptr && excerpt_->same_place(wanted) && look_ == look.number;
    const bool ready = look.number == 0 || wanted.first_row + wanted.rows <= look.rows_ready;
    if (current_ || asked_ || !ready || !work.open()) return;
    const std::int64_t count = wanted.rows * wanted.columns;
    work.add(Work::excerpt, layer.kernel("view_excerpt"),
             params::ViewExcerptParams{.source = address_words(layer.address),
                                       .result = address_words(result_.address()),
                                       .row_factors = look.row_factors,
                                       .key_factors = look.key_factors,
                                       .distance_means = look.distance_means,
                                       .head = u32(wanted.head.head),
                                       .first_row = u32(wanted.first_row),
                                       .first_column = u32(wanted.first_column),
                                       .rows = u32(wanted.rows),
                                       .columns = u32(wanted.columns),
                                       .keys = u32(extent.keys),
                                       .relative = wanted.axis == KeyAxis::relative,
                                       .origin = u32(extent.origin())},
             flat_grid(ceil_div(count, layer.spec.front()), device_.caps()),
             static_cast<double>(count * layer.sizes.d));
    asked_ = std::move(wanted);
    asked_look_ = look.number;
}

bool ExcerptReader::collect() {
    if (!asked_) return false;
    Excerpt read = *std::exchange(asked_, std::nullopt);
    read.weights.resize(static_cast<std::size_t>(read.rows * read.columns));
    std::memcpy(read.weights.data(), result_.mapped(), read.weights.size() * sizeof(float));
    look_ = asked_look_;
    excerpt_ = std::make_shared<const Excerpt>(std::move(read));
    return true;
}

HoveredWeight::HoveredWeight(gpu::DeviceState& device)
    : result_(gpu::allocate(device, HOVERED_WEIGHT_WORDS * sizeof(std::uint32_t), gpu::MemoryKind::readback,
                            "view.probe")) {}

void HoveredWeight::ask(const HeadId& head, const ViewSources::Layer& layer, std::int64_t query, std::int64_t key,
                        const Extent& extent, std::uint64_t run, ViewWork& work) {
    work.add(Work::hovered_weight, layer.kernel("view_hovered_weight"),
             params::ViewHoveredWeightParams{.source = address_words(layer.address),
                                             .result = address_words(result_.address()),
                                             .head = u32(head.head),
                                             .row = u32(query),
                                             .key = u32(key),
                                             .keys = u32(extent.own_keys)},
             {1, 1, 1}, static_cast<double>(extent.own_keys * layer.sizes.d));
    asked_ = CellReading{.head = head, .query = query, .key = key, .run = run};
}

bool HoveredWeight::collect() {
    if (!asked_) return false;
    std::uint32_t words[HOVERED_WEIGHT_WORDS];
    std::memcpy(words, result_.mapped(), sizeof words);
    const auto number = [&](int i) { return std::bit_cast<float>(words[i]); };
    CellReading reading = *std::exchange(asked_, std::nullopt);
    reading.weight = number(PROBE_WEIGHT), reading.logit = number(PROBE_LOGIT);
    reading.rank = 1 + words[PROBE_LARGER];
    reading.row_sum = number(PROBE_SUM), reading.entropy = number(PROBE_ENTROPY);
    reading.effective = std::exp(reading.entropy);
    for (int i = 0; i < PROBE_TOP_COUNT; ++i)
        if (const std::uint32_t key = words[PROBE_TOP + 2 * i + 1]; key != UINT32_MAX)
            reading.top.push_back({key, number(PROBE_TOP + 2 * i)});
    reading_ = std::move(reading);
    ++readings_;
    return true;
}

}  // namespace vantage::view
