#include "viewer/panels/shown_value.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"

namespace vantage::view {

std::string weight_name(const Modifiers& m) {
    if (m == Modifiers{.over_expected = true}) return "observed / expected";
    std::string name = m.sink_off ? "p without key 0" : "p";
    if (m.value_weighted) name += "·‖v‖";
    if (m.row_normalised) name += " / row's maximum";
    if (m.over_expected) name += " / expected";
    return name;
}

std::string value_text(float value, const Modifiers& modifiers) {
    if (value == 0) return "0";
    if (modifiers.over_expected || modifiers.value_weighted) return format("{:.4g}", value);
    return std::abs(value) < 1e-3f ? format("{:.3g}", value) : format("{:.5f}", value);
}

std::optional<float> shown_weight(const FrameData& frame, const Modifiers& modifiers, std::int64_t query,
                                  std::int64_t key) {
    if (!modifiers.any() && frame.reading && frame.reading->query == query && frame.reading->key == key)
        return frame.reading->weight;
    const float weight = frame.read ? frame.read->at(query, key) : NAN;
    return std::isnan(weight) ? std::nullopt : std::optional(weight);
}

std::vector<CellReading::Top> shown_top(const FrameData& frame, const Modifiers& modifiers, std::int64_t query,
                                        std::size_t count) {
    std::vector<CellReading::Top> top;
    const bool row_known = frame.read && frame.read->first_row == query;
    if (!modifiers.any() && frame.reading && frame.reading->query == query) top = frame.reading->top;
    if (row_known && top.size() < count) {  // the row may have more
        top.clear();
        for (std::int64_t i = 0; i < frame.read->columns; ++i) {
            const std::int64_t key = frame.read->first_column + i;
            if (const float weight = frame.read->at(query, key); weight > 0) top.push_back({key, weight});
        }
    }
    const auto kept = top.begin() + static_cast<std::ptrdiff_t>(std::min(top.size(), count));
    std::ranges::partial_sort(top, kept, std::ranges::greater(), &CellReading::Top::weight);
    top.erase(kept, top.end());
    return top;
}

std::vector<CellReading::Top> line_strengths(const FrameData& frame, const Modifiers& modifiers, std::int64_t query,
                                             std::size_t count) {
    std::vector<CellReading::Top> top = shown_top(frame, modifiers, query, count);
    const float whole = modifiers.any() && !top.empty() ? top.front().weight : 1;
    for (CellReading::Top& one : top) one.weight /= whole;
    return top;
}

std::optional<Rectangle> pooled_part(const FrameData& frame, std::int64_t row, std::int64_t column) {
    const int level = frame.map.level;
    if (level == 0 || (std::int64_t{1} << (2 * level)) > max_numbers) return std::nullopt;
    const std::int64_t size = std::int64_t{1} << level;
    const std::int64_t first_row = row - row % size, first_column = column - column % size;
    return Rectangle{static_cast<double>(first_row), static_cast<double>(first_row + size),
                     static_cast<double>(first_column), static_cast<double>(first_column + size)};
}

std::optional<float> pooled_value(const FrameData& frame, const Rectangle& part, CellPooling pooling) {
    const Excerpt* weights = frame.numbers.get();
    if (weights == nullptr || weights->first_row != static_cast<std::int64_t>(part.first_row) ||
        weights->first_column != static_cast<std::int64_t>(part.first_column) ||
        static_cast<double>(weights->rows) > part.rows() || static_cast<double>(weights->columns) > part.columns())
        return std::nullopt;
    double sum = 0;
    float largest = 0;
    for (const float weight : weights->weights)
        if (!std::isnan(weight)) sum += static_cast<double>(weight), largest = std::max(largest, weight);
    return pooling == CellPooling::peak ? largest : static_cast<float>(sum / static_cast<double>(weights->rows));
}

}  // namespace vantage::view
