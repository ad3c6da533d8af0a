// The hovered or selected cell in numbers, and the keys that its row attends to most; by default those of the newest
// token.
#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"
#include "runtime/picture/attention_scale.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/shown_value.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// Lines with a name at the left and a value at the right.
class Lines {
public:
    Lines(const Ui& ui, const Box& box, float y) : ui_(ui), box_(box), y_(y) {}
    void line(std::string_view name, std::string_view value, bool strong = false) {
        const float right = box_.right() - ui_.px(12);
        const float end = put(regular(ui_), box_.x + ui_.px(12), y_, ui_.palette.faint, name);
        const Face face = strong ? bold(ui_) : regular(ui_);
        put_right(face, right, y_, strong ? ui_.palette.strong : ui_.palette.ink,
                  fitted(face, value, right - end - ui_.px(10)));
        explain_number(ui_, {box_.x, y_, box_.wide, ui_.fonts.regular.size + ui_.px(6)},
                       name.starts_with("shown") ? "shown" : name);
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
    bool room() const { return y_ + ui_.fonts.regular.size + ui_.px(12) < box_.bottom(); }

private:
    const Ui& ui_;
    Box box_;
    float y_;
};

std::string token_text(const std::vector<std::string>& labels, std::int64_t token) {
    return "“" + label_of(labels, token) + "”  " + std::to_string(token);
}

/// A cell of the map in one of two runs.
struct CellIn {
    const FrameData* frame;
    std::optional<std::int64_t> query, key;
    CellIn(const Ui& ui, bool of_b, std::int64_t row, std::int64_t column) : frame(ui.focus.two->frames[of_b ? 1 : 0]) {
        const SideSlots& slots = ui.focus.two->comparison.slots(of_b);
        query = slots.rows_of(ui.focus.head.kind).token(row), key = slots.keys_of(ui.focus.head.kind).token(column);
        if (frame != nullptr && frame->reading && frame->reading->head != ui.focus.head) frame = nullptr;
    }
    /// With the map's modifiers, if known.
    std::optional<float> shown(const Modifiers& modifiers) const {
        return frame != nullptr && query && key ? shown_weight(*frame, modifiers, *query, *key) : std::nullopt;
    }
    /// Without modifiers, once it has been read: what is known of other cells has the map's.
    std::optional<float> plain() const {
        const bool read =
            frame != nullptr && frame->reading && query == frame->reading->query && key == frame->reading->key;
        return read ? std::optional(frame->reading->weight) : std::nullopt;
    }
};

/// The weights of both runs as their maps show them, then without modifiers.
void show_both(const Ui& ui, Lines& lines, std::int64_t row, std::int64_t column) {
    const Modifiers& shown = ui.state.modifiers;
    const std::string name = weight_name(shown);
    const auto text = [](std::optional<float> weight, const Modifiers& modifiers) {
        return weight ? value_text(*weight, modifiers) : std::string("–");
    };
    const CellIn in_a(ui, false, row, column), in_b(ui, true, row, column);
    const auto a = in_a.shown(shown), b = in_b.shown(shown);
    const auto signed_text = [&](float c) {
        return c == 0 ? std::string("0") : (c < 0 ? "−" : "+") + value_text(std::abs(c), shown);
    };
    const std::string change = a && b ? signed_text(*b - *a) : "–";
    const bool difference = ui.focus.two->shown == ShownRuns::difference;
    if (difference) lines.line("shown: B − A", change, true);
    lines.line(name + " in A", text(a, shown), !difference);
    lines.line(name + " in B", text(b, shown), !difference);
    if (!difference) lines.line("B − A", change, true);
    if (!shown.any()) return;
    lines.line("p in A", text(in_a.plain(), {}));
    lines.line("p in B", text(in_b.plain(), {}));
}

/// The value that the map shows, where it is not the weight; then the weight.
void show_one(const Ui& ui, Lines& lines, const CellReading& r) {
    const FrameData& frame = *ui.run.frame;
    const Modifiers& shown = ui.state.modifiers;
    if (const auto cell = ui.at.cell(); cell && frame.map.level > 0) {
        const auto part = pooled_part(frame, cell->first, cell->second);
        const auto value = part ? pooled_value(frame, *part, ui.state.pooling) : std::nullopt;
        const int size = 1 << frame.map.level;
        lines.line(format("shown: {} of {} × {}", name_of(ui.state.pooling), size, size),
                   value ? value_text(*value, shown) : "–", true);
    }
    if (shown.any()) {
        const auto value = shown_weight(frame, shown, r.query, r.key);
        lines.line((frame.map.level > 0 ? "" : "shown: ") + weight_name(shown), value ? value_text(*value, shown) : "–",
                   true);
    }
    lines.line("p", value_text(r.weight, {}), !shown.any() && frame.map.level == 0);
}

/// How many weights the expected one is the mean of: with one, observed / expected is always 1.
void show_pairs(const Ui& ui, Lines& lines, const CellReading& r) {
    const std::int64_t pairs = ui.run.frame->rows - std::abs(r.query - r.key);
    lines.line("expected", format("mean of {} {}", pairs, pairs == 1 ? "pair: always 1" : "pairs"));
}

/// A key in the list, with its position.
std::string key_text(const Ui& ui, std::int64_t key) {
    const std::string label = label_of(ui.focus.key_labels, ui.focus.key_slots.slot_of(key));
    return ui.run.tokens.seen ? label : with_position(label, key);
}

void show_cell(const Ui& ui, Lines& lines, const CellReading& r) {
    const std::int64_t row = ui.focus.row_slots.slot_of(r.query), column = ui.focus.key_slots.slot_of(r.key);
    lines.line("query", token_text(ui.focus.row_labels, row), true);
    lines.line("attends to", token_text(ui.focus.key_labels, column), true);
    lines.rule();
    ui.focus.two ? show_both(ui, lines, row, column) : show_one(ui, lines, r);
    if (ui.state.modifiers.over_expected && ui.focus.head.kind == AttentionKind::self) show_pairs(ui, lines, r);
    const bool masked = !std::isfinite(r.logit);
    lines.line("logit", masked ? "masked" : format("{:.3f}", r.logit));
    lines.line("rank in row", masked ? "–" : std::to_string(r.rank));
    lines.rule();
    lines.line("row sum", format("{:.5f}", r.row_sum));
    lines.line("entropy", format("{:.3f} nat", r.entropy));
    lines.line("effective tokens", format("{:.2f}", r.effective));
    lines.rule();
    lines.title("“" + label_of(ui.focus.row_labels, row) + "” attends to");
    const std::vector<CellReading::Top> top = shown_top(*ui.run.frame, ui.state.modifiers, r.query),
                                        lengths = line_strengths(*ui.run.frame, ui.state.modifiers, r.query);
    for (std::size_t i = 0; i < top.size() && lines.room() && top[i].weight > 0; ++i)
        lines.bar(key_text(ui, top[i].key), top[i].weight, lengths[i].weight, ui.palette.accent);
}

/// A cell without a weight has a place, and the reason.
void show_place(const Ui& ui, Lines& lines, const Cell& cell) {
    lines.line("query", token_text(ui.focus.row_labels, cell.first), true);
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
