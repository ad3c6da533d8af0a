#include "viewer/panels/cell_values.h"

#include <cmath>

#include "runtime/base/format.h"
#include "viewer/panels/shown_value.h"

namespace vantage::view {
namespace {

/// The value of the cell under the mouse, which covers several weights.
std::optional<float> pooled_in(const Ui& ui, const FrameData& frame, const Slots& rows, const Slots& keys) {
    const Cell cell = *ui.at.cell();
    const auto part = pooled_part(frame, cell.first, cell.second);
    if (!part) return std::nullopt;
    const Slots distances, &columns = ui.state.axis == KeyAxis::relative ? distances : keys;
    const auto before = [](const Slots& slots, double slot) {
        return static_cast<double>(slots.tokens_before(static_cast<std::int64_t>(slot)));
    };
    return pooled_value(frame,
                        {before(rows, part->first_row), before(rows, part->last_row),
                         before(columns, part->first_column), before(columns, part->last_column)},
                        ui.state.pooling);
}

/// Whether all slots of the cell under the mouse are pairs: the others have no difference.
bool is_paired(const Ui& ui) {
    const RunComparison& comparison = ui.focus.two->comparison;
    const auto part = pooled_part(*ui.run.frame, ui.at.cell()->first, ui.at.cell()->second);
    const auto paired = [](const Alignment& slots, double first, double last) {
        for (auto slot = static_cast<std::int64_t>(first);
             slot < std::min(static_cast<std::int64_t>(last), slots.count()); ++slot)
            if (!slots.paired(slot)) return false;
        return true;
    };
    return part && paired(comparison.row_slots(ui.focus.head.kind), part->first_row, part->last_row) &&
           (ui.state.axis == KeyAxis::relative ||
            paired(comparison.key_slots(ui.focus.head.kind), part->first_column, part->last_column));
}

}  // namespace

CellIn::CellIn(const Ui& ui, bool of_b, const CellReading& r) : frame(ui.focus.two->frame(of_b)) {
    const SideSlots& slots = ui.focus.two->comparison.slots(of_b);
    query = slots.rows_of(ui.focus.head.kind).token(ui.focus.row_slots.slot_of(r.query));
    if (ui.state.axis == KeyAxis::absolute || !ui.at.cell())
        key = slots.keys_of(ui.focus.head.kind).token(ui.focus.key_slots.slot_of(r.key));
    else if (query && *query - r.query + r.key >= 0)  // as far from its query
        key = *query - r.query + r.key;
    if (frame != nullptr && frame->reading && frame->reading->head != ui.focus.head) frame = nullptr;
}

const CellReading* CellIn::reading() const {
    const bool read =
        frame != nullptr && frame->reading && query == frame->reading->query && key == frame->reading->key;
    return read ? &*frame->reading : nullptr;
}

std::optional<float> CellIn::weight(const Modifiers& modifiers) const {
    return frame != nullptr && query && key ? shown_weight(*frame, modifiers, *query, *key) : std::nullopt;
}

bool is_pooled(const Ui& ui) { return ui.at.cell() && ui.run.frame->map.level > 0; }

std::string drawn_name(const Ui& ui) {
    if (!is_pooled(ui)) return weight_name(ui.state.modifiers);
    const int size = 1 << ui.run.frame->map.level;
    return format("{} of {} × {}", name_of(ui.state.pooling), size, size);
}

std::optional<float> drawn_value(const Ui& ui, const CellReading& r) {
    return is_pooled(ui) ? pooled_in(ui, *ui.run.frame, ui.focus.row_slots, ui.focus.key_slots)
                         : shown_weight(*ui.run.frame, ui.state.modifiers, r.query, r.key);
}

DrawnInBoth drawn_in_both(const Ui& ui, const CellReading& r) {
    const auto value = [&](bool of_b) -> std::optional<float> {
        const CellIn cell(ui, of_b, r);
        if (!is_pooled(ui) || cell.frame == nullptr) return cell.weight(ui.state.modifiers);
        const SideSlots& slots = ui.focus.two->comparison.slots(of_b);
        return pooled_in(ui, *cell.frame, slots.rows_of(ui.focus.head.kind), slots.keys_of(ui.focus.head.kind));
    };
    DrawnInBoth both{value(false), value(true), {}};
    if (both.a && both.b && (!is_pooled(ui) || is_paired(ui))) both.change = *both.b - *both.a;
    return both;
}

std::string known_text(std::optional<float> value, const Modifiers& modifiers) {
    return value ? value_text(*value, modifiers) : "–";
}

std::string change_text(std::optional<float> change, const Modifiers& modifiers) {
    if (!change || *change == 0) return known_text(change, modifiers);
    return (*change < 0 ? "−" : "+") + value_text(std::abs(*change), modifiers);
}

}  // namespace vantage::view
