// What is asked of the data of both runs, and the ends of the colour bar that follow it.
#include <algorithm>
#include <cmath>

#include "viewer/panels/panels.h"
#include "viewer/panels/viewer.h"

namespace vantage::view {

/// The cell of what a query reads most, as soon as that is known.
Cell Viewer::argmax_cell(std::int64_t query) const {
    const RunView& side = in_front();
    if (side.frame != nullptr && side.frame->reading) {
        const CellReading& reading = *side.frame->reading;
        if (reading.head == head() && row_slots(side).slot_of(reading.query) == query && !reading.top.empty())
            return {query, key_slots(side).slot_of(reading.top.front().key)};
    }
    return {query, 0};
}

std::optional<std::int64_t> Viewer::key_of(const Cell& cell) const {
    if (state_.axis == KeyAxis::absolute) return cell.second;
    const auto query = row_slots().token(cell.first);
    const Slots& slots = key_slots(in_front());
    if (!query) return std::nullopt;
    const std::int64_t key = *query + own_column() - cell.second;
    return key >= 0 && key < slots.tokens_before(keys()) ? std::optional(slots.slot_of(key)) : std::nullopt;
}

/// The query and the key that are asked about.
std::optional<Cell> Viewer::asked_cell() const {
    if (rows() == 0) return std::nullopt;
    const auto cell = at_.cell();
    if (!cell) return argmax_cell(at_.query(state_, rows()));
    const auto key = key_of(*cell);
    return key && cell->first < rows() ? std::optional(Cell{cell->first, *key}) : std::nullopt;
}

Wanted Viewer::wanted(const RunView& side) const {
    const MapView& map = panes_.front().map;
    Wanted w{.head = head(),
             .part = part(),
             .pixels_high = static_cast<double>(map.box.high),
             .pixels_wide = static_cast<double>(map.box.wide),
             .mini_maps = state_.mini_maps,
             .counted = at_.bar};
    if (map.pixels_per_row() >= static_cast<double>(numbered_cell * options_.scale) &&
        map.pixels_per_column() >= static_cast<double>(numbered_cell * options_.scale))
        w.numbers = Rectangle{std::floor(w.part.first_row), std::ceil(w.part.last_row), std::floor(w.part.first_column),
                              std::ceil(w.part.last_column)};
    if (const auto cell = asked_cell()) {
        const auto query = row_slots(side).token(cell->first), key = key_slots(side).token(cell->second);
        if (query && key) w.under_mouse = {*query, *key};
    }
    if (rows() > 0) w.reader = row_slots(side).token(at_.query(state_, rows()));
    return w;
}

/// The state as the runs' data are to see it.
ViewState Viewer::seen() const {
    ViewState seen = state_;
    if (b_) seen.rows = rows();  // that both have
    return seen;
}

/// Once more where that tells the ends of the colour bar, along which cells are counted.
void Viewer::finish_sides(bool newest) {
    do {
        each_side([&](RunView& side) {
            side.frame = side.has(head()) ? &side.data.finish(seen(), wanted(side), newest) : nullptr;
        });
        newest = false;
    } while (follow_values());
}

/// The scale and the ends of the colour bar that nobody has moved follow what is shown. True when they changed.
bool Viewer::follow_values() {
    if (at_.bar) return false;  // an end is being dragged
    ValueRange ends = default_range(state_.modifiers);
    if (ends.max == 0)  // the longest value's; 0 until it is known
        each_side([&](const RunView& side) {
            if (side.frame != nullptr) ends.max = std::max(ends.max, side.frame->largest_value.value_or(0));
        });
    const ValueRange before = state_.range;
    const AttentionScale scale_before = state_.scale;
    if (state_.range.min == default_ends_.min) state_.range.min = ends.min;
    if (state_.range.max == stand_in_.value_or(default_ends_.max)) {  // nobody has chosen another
        stand_in_ = ends.max > 0 ? std::nullopt : std::optional(state_.range.max > 0 ? state_.range.max : 1);
        state_.range.max = stand_in_.value_or(ends.max);
    } else {
        stand_in_.reset();
    }
    if (!(state_.range.min < state_.range.max) && ends.max > 0) state_.range = ends;
    if (state_.scale == default_scale_) state_.scale = default_scale(state_.modifiers);
    default_ends_ = ends, default_scale_ = default_scale(state_.modifiers);
    return before != state_.range || scale_before != state_.scale;
}

}  // namespace vantage::view
