#include "viewer/panels/moves.h"

#include <algorithm>

#include "runtime/base/format.h"
#include "viewer/panels/focus_finder.h"
#include "viewer/panels/viewed_runs.h"
#include "viewer/panels/viewer.h"

namespace vantage::view {

void go_to_head(Viewer& v, const std::optional<HeadId>& head) {
    const AttentionKind before = v.runs().head().kind;
    v.state().head = head;
    forget_misfits(v.state(), v.at(), before, v.runs().head().kind);
}

void go_to_suggested_head(Viewer& v) {
    go_to_head(v, std::nullopt);
    const std::optional<SalientHead> salient = v.runs().finder().found();
    if (!salient) return v.say("No salient head was found in this prompt");
    const auto quoted = [&](int token) { return "“" + label_of(v.runs().a().labels.all(), token) + "”"; };
    const bool induction = salient->reason == SalientHead::induction;
    v.say(head_name({salient->layer, salient->head}) + ", the most salient by " +
          (induction ? "induction: " : "a single link: ") + quoted(salient->read.query) + " attends to " +
          quoted(salient->read.key) + (induction ? ", which followed it before" : "") +
          format(" ({:.2f})", salient->read.weight));
}

void forget_misfits(ViewState& state, Interaction& at, AttentionKind before, AttentionKind now) {
    if (before == now) return;
    // Rows are the source's tokens for encoders, else the model's; keys are the model's for self-attention, else the
    // source's.
    const bool rows = (before == AttentionKind::encoder) == (now == AttentionKind::encoder),
               keys = (before == AttentionKind::self) == (now == AttentionKind::self);
    std::erase_if(state.pins, [&](const Pin& pin) { return pin.kind == Pin::Kind::query ? !rows : !keys; });
    state.part.reset();
    at.picked.reset();
    at.hovered.reset();
    if (rows) return;
    at.picked_token.reset();
    state.rows.reset();
}

void scroll_to(Viewer& v, std::int64_t row, std::int64_t column) {
    if (v.state().part) v.state().part = showing(*v.state().part, row, column, v.runs().rows(), v.runs().columns());
}

Cell picked(const Viewer& v) {
    if (const auto cell = v.at().cell()) return *cell;
    return {std::max<std::int64_t>(0, v.runs().rows() - 1), std::max<std::int64_t>(0, v.runs().columns() - 1)};
}

void nudge(Viewer& v, std::int64_t rows, std::int64_t columns) {
    if (v.runs().rows() == 0) return;
    Cell cell = picked(v);
    cell.first = std::clamp<std::int64_t>(cell.first + rows, 0, v.runs().rows() - 1);
    cell.second = std::clamp<std::int64_t>(cell.second + columns, 0, v.runs().columns() - 1);
    v.at().picked = cell;
    scroll_to(v, cell.first, cell.second);
}

void toggle_pin(ViewState& state, const Pin& pin) {
    if (const auto found = std::ranges::find(state.pins, pin); found != state.pins.end())
        state.pins.erase(found);
    else
        state.pins.push_back(pin);
}

void pin_picked(Viewer& v, Pin::Kind kind) {
    if (v.runs().rows() == 0) return;
    const Cell cell = picked(v);
    const std::optional<std::int64_t> key = v.runs().key_of(cell);
    if (kind == Pin::Kind::query || key) toggle_pin(v.state(), {kind, kind == Pin::Kind::query ? cell.first : *key});
}

void go_to_off_row(Viewer& v) {
    const std::span<const OffRow> rows = v.runs().off_rows();
    if (rows.empty()) return v.say("All rows sum to 1");
    const std::int64_t from = v.state().pins.empty() ? -1 : v.state().pins.back().token;
    const auto slot_of = [&](const OffRow& row) { return v.runs().row_slots().slot_of(row.row); };
    auto next = std::ranges::find_if(rows, [&](const OffRow& row) { return slot_of(row) > from; });
    if (next == rows.end()) next = rows.begin();
    v.state().pins = {{Pin::Kind::query, slot_of(*next)}};
    const Rectangle part = v.runs().part();
    scroll_to(v, slot_of(*next), static_cast<std::int64_t>(part.first_column + part.columns() / 2));
    v.say(format("row {} sums to {:.4g}", next->row, next->sum));
}

void show_rows(ViewState& state, std::int64_t rows, std::int64_t all) {
    state.rows = std::clamp<std::int64_t>(rows, 1, all);
    if (*state.rows == all) state.rows.reset();
    state.part.reset();
}

void go_to_row(Viewer& v, std::int64_t rows) {
    const std::int64_t all = v.runs().all_rows();
    if (all > 0) show_rows(v.state(), rows, all);
}

void move_end(Viewer& v, BarEnd end, int steps) {
    constexpr double step = 0.05;
    if (v.runs().shown() == ShownRuns::difference) {  // symmetric
        v.state().difference_max =
            with_end({0, v.state().difference_max}, BarEnd::bright, 1 + step * steps, v.state().scale).max;
        return;
    }
    const double from = end == BarEnd::bright ? 1 : 0;
    v.state().range = with_end(v.state().range, end, from + step * steps, v.state().scale);
}

}  // namespace vantage::view
