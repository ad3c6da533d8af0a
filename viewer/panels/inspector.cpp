// The hovered or selected cell in numbers, and the keys that its row attends to most; by default those of the newest
// token.
#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/picture/attention_scale.h"
#include "viewer/panels/cell_values.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/shown_value.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// Lines with a name at the left and a value at the right.
class Lines {
public:
    Lines(const Ui& ui, const Box& box, float y) : ui_(ui), box_(box), y_(y) {}
    /// Its tooltip explains the name.
    void line(std::string_view name, std::string_view value, bool strong = false) {
        const float right = box_.right() - ui_.px(12);
        const float end = put(regular(ui_), box_.x + ui_.px(12), y_, ui_.palette.faint, name);
        const Face face = strong ? bold(ui_) : regular(ui_);
        put_right(face, right, y_, strong ? ui_.palette.strong : ui_.palette.ink,
                  fitted(face, value, right - end - ui_.px(10)));
        explain_number(ui_, {box_.x, y_, box_.wide, ui_.fonts.regular.size + ui_.px(6)}, name);
        y_ += ui_.fonts.regular.size + ui_.px(6);
    }
    void bar(std::string_view name, float value, float share, ImU32 colour) {
        const float left = box_.x + ui_.px(12), right = box_.right() - ui_.px(12), number = ui_.px(46);
        const float wide = right - left - number, high = ui_.fonts.regular.size + ui_.px(5);
        fill({left, y_, wide * std::clamp(share, 0.0f, 1.0f), high}, faded(colour, 0.28f), ui_.px(3));
        put(regular(ui_), left + ui_.px(6), y_ + ui_.px(2), ui_.palette.ink,
            fitted(regular(ui_), name, wide - ui_.px(12)));
        put_right(regular(ui_), right, y_ + ui_.px(2), ui_.palette.ink,
                  value < 5e-4f ? "< 0.001" : format("{:.3f}", value));
        explain_number(ui_, {box_.x, y_, box_.wide, high}, weight_name(ui_.state.modifiers));
        y_ += high + ui_.px(3);
    }
    void rule() {
        y_ += ui_.px(4);
        fill({box_.x + ui_.px(12), y_, box_.wide - ui_.px(24), 1}, ui_.palette.line);
        y_ += ui_.px(9);
    }
    void title(std::string_view text) {
        put(bold(ui_), box_.x + ui_.px(12), y_, ui_.palette.strong, text);
        y_ += ui_.fonts.regular.size + ui_.px(8);
    }
    /// Bars that there is room for.
    std::size_t bars() const {
        const float left = box_.bottom() - ui_.px(8) - y_, high = ui_.fonts.regular.size + ui_.px(8);
        return static_cast<std::size_t>(std::max(0.0f, left / high));
    }

private:
    const Ui& ui_;
    Box box_;
    float y_;
};

std::string token_text(const std::vector<std::string>& labels, std::int64_t slot, const std::string& position) {
    return "“" + label_of(labels, slot) + "”  " + position;
}

/// The values of both runs as their maps show them, then without pooling and modifiers.
void show_both(const Ui& ui, Lines& lines, const CellReading& r) {
    const Modifiers& shown = ui.state.modifiers;
    const DrawnInBoth values = drawn_in_both(ui, r);
    const bool difference = ui.focus.two->shown == ShownRuns::difference, plain = !is_pooled(ui) && !shown.any();
    const std::string name = drawn_name(ui), change = change_text(values.change, shown);
    if (difference) lines.line("shown: B − A", change, true);
    lines.line(name + " in A", known_text(values.a, shown), !difference);
    lines.line(name + " in B", known_text(values.b, shown), !difference);
    if (!difference) lines.line("B − A", change, true);
    if (plain) return;
    const auto weight = [&](bool of_b) -> std::optional<float> {
        const CellReading* reading = CellIn(ui, of_b, r).reading();
        return reading != nullptr ? std::optional(reading->weight) : std::nullopt;
    };
    lines.line("p in A", known_text(weight(false), {}));
    lines.line("p in B", known_text(weight(true), {}));
}

/// The value that the map shows, where it is not the weight; then the weight.
void show_one(const Ui& ui, Lines& lines, const CellReading& r) {
    const Modifiers& shown = ui.state.modifiers;
    const bool pooled = is_pooled(ui);
    if (pooled) lines.line("shown: " + drawn_name(ui), known_text(drawn_value(ui, r), shown), true);
    if (shown.any())
        lines.line((pooled ? "" : "shown: ") + weight_name(shown),
                   known_text(shown_weight(*ui.run.frame, shown, r.query, r.key), shown), true);
    lines.line("p", value_text(r.weight, {}), !shown.any() && !pooled);
}

/// How many weights the expected one is the mean of: with one, observed / expected is always 1.
void show_pairs(const Ui& ui, Lines& lines, const CellReading& r) {
    const std::int64_t pairs = ui.run.frame->rows - std::abs(r.query - r.key);
    lines.line("expected", format("mean of {} {}", pairs, pairs == 1 ? "pair: always 1" : "pairs"));
}

/// Whether the map is of both runs: side by side, or their difference.
bool of_both(const Ui& ui) {
    return ui.focus.two && (ui.focus.two->shown == ShownRuns::both || ui.focus.two->shown == ShownRuns::difference);
}

/// A number of the reading; of both runs that of A and that of B.
template <class TextOf>
std::string in_shown(const Ui& ui, const CellReading& r, TextOf text_of) {
    if (!of_both(ui)) return text_of(r);
    const auto text = [&](bool of_b) -> std::string {
        const CellReading* reading = CellIn(ui, of_b, r).reading();
        return reading != nullptr ? text_of(*reading) : "–";
    };
    return text(false) + " | " + text(true);
}

/// Where the query or the key of a reading is in its text; of both runs in both, if it is elsewhere in B.
std::string position_text(const Ui& ui, const CellReading& r, std::optional<std::int64_t> CellIn::*token) {
    const auto own = std::to_string(token == &CellIn::query ? r.query : r.key);
    if (!of_both(ui)) return own;
    const auto text = [&](bool of_b) {
        const std::optional<std::int64_t> position = CellIn(ui, of_b, r).*token;
        return position ? std::to_string(*position) : "–";
    };
    const std::string a = text(false), b = text(true);
    return a == b ? a : a + " | " + b;
}

/// The keys that a query of a run attends to most, by the run's own names.
void list_keys(const Ui& ui, Lines& lines, const RunView& run, std::int64_t query, std::size_t count) {
    const std::vector<CellReading::Top> top = shown_top(*run.frame, ui.state.modifiers, query, count),
                                        lengths = line_strengths(*run.frame, ui.state.modifiers, query, count);
    for (std::size_t i = 0; i < top.size() && top[i].weight > 0; ++i) {
        const std::string label = label_of(run.key_labels(ui.focus.head.kind), top[i].key);
        lines.bar(run.tokens.patches_in_keys(ui.focus.head.kind) ? label : with_position(label, top[i].key),
                  top[i].weight, lengths[i].weight, ui.palette.accent);
    }
}

/// Of both runs there is a list of each.
void show_keys(const Ui& ui, Lines& lines, const CellReading& r) {
    const auto title = [&](const RunView& run, std::int64_t query) {
        return "“" + label_of(run.row_labels(ui.focus.head.kind), query) + "” attends to";
    };
    if (!of_both(ui)) {
        lines.title(title(ui.run, r.query));
        return list_keys(ui, lines, ui.run, r.query, lines.bars());
    }
    const std::size_t room = lines.bars(), others = 3;  // two titles and a rule
    bool first = true;
    for (const bool of_b : {false, true}) {
        const CellIn cell(ui, of_b, r);
        if (cell.frame == nullptr || !cell.query) continue;
        const RunView& run = *ui.focus.two->runs[of_b ? 1 : 0];
        if (!std::exchange(first, false)) lines.rule();
        lines.title(title(run, *cell.query) + (of_b ? " · B" : " · A"));
        list_keys(ui, lines, run, *cell.query, room > others ? (room - others) / 2 : 0);
    }
}

void show_cell(const Ui& ui, Lines& lines, const CellReading& r) {
    const std::int64_t row = ui.focus.row_slots.slot_of(r.query), column = ui.focus.key_slots.slot_of(r.key);
    lines.line("query", token_text(ui.focus.row_labels, row, position_text(ui, r, &CellIn::query)), true);
    lines.line("attends to", token_text(ui.focus.key_labels, column, position_text(ui, r, &CellIn::key)), true);
    lines.rule();
    ui.focus.two ? show_both(ui, lines, r) : show_one(ui, lines, r);
    if (ui.state.modifiers.over_expected && ui.focus.head.kind == AttentionKind::self) show_pairs(ui, lines, r);
    const auto line = [&](const char* name, auto text_of) { lines.line(name, in_shown(ui, r, text_of)); };
    line("logit", [](const CellReading& c) { return std::isfinite(c.logit) ? format("{:.3f}", c.logit) : "masked"; });
    line("rank in row", [](const CellReading& c) { return std::isfinite(c.logit) ? std::to_string(c.rank) : "–"; });
    lines.rule();
    line("row sum", [](const CellReading& c) { return format("{:.5f}", c.row_sum); });
    line("entropy", [](const CellReading& c) { return format("{:.3f} nat", c.entropy); });
    line("effective tokens", [](const CellReading& c) { return format("{:.2f}", c.effective); });
    lines.rule();
    show_keys(ui, lines, r);
}

/// A cell without a weight has a place, and the reason.
void show_place(const Ui& ui, Lines& lines, const Cell& cell) {
    lines.line("query", token_text(ui.focus.row_labels, cell.first, std::to_string(cell.first)), true);
    lines.rule();
    lines.title(ui.focus.why_no_weight);
}

}  // namespace

void draw_inspector(const Ui& ui) {
    const Box& box = ui.layout.inspector;
    const Panel panel("inspector", box);
    if (!panel) return;
    const bool known = ui.run.frame->reading && ui.run.frame->reading->head == ui.focus.head;
    Lines lines(ui, box, heading(ui, box, "Cell", short_name(ui.focus.head)) + ui.px(4));
    if (const auto cell = ui.at.cell(); cell && ui.focus.why_no_weight != nullptr)
        show_place(ui, lines, *cell);
    else if (known)
        show_cell(ui, lines, *ui.run.frame->reading);
}

}  // namespace vantage::view
