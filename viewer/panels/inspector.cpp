// The hovered or selected cell in numbers, and the keys that its row attends to most; by default those of the newest
// token.
#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"
#include "runtime/picture/attention_scale.h"
#include "viewer/panels/panels.h"
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
        explain_number(ui_, {box_.x, y_, box_.wide, ui_.fonts.regular.size + ui_.px(6)}, name);
        y_ += ui_.fonts.regular.size + ui_.px(6);
    }
    void bar(std::string_view name, double share, ImU32 colour) {
        const float left = box_.x + ui_.px(12), right = box_.right() - ui_.px(12), number = ui_.px(46);
        const float wide = right - left - number, high = ui_.fonts.regular.size + ui_.px(5);
        fill({left, y_, wide * static_cast<float>(std::clamp(share, 0.0, 1.0)), high}, faded(colour, 0.28f), ui_.px(3));
        put(regular(ui_), left + ui_.px(6), y_ + ui_.px(2), ui_.palette.ink,
            fitted(regular(ui_), name, wide - ui_.px(12)));
        put_right(regular(ui_), right, y_ + ui_.px(2), ui_.palette.ink,
                  share < 5e-4 ? "< 0.001" : format("{:.3f}", share));
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

/// The weight of the cell in one of two runs, if known.
std::optional<double> weight_in(const Ui& ui, bool of_b, std::int64_t row, std::int64_t column) {
    const FrameData* frame = ui.focus.two->frames[of_b ? 1 : 0];
    if (frame == nullptr || !frame->reading || frame->reading->head != ui.focus.head) return std::nullopt;
    const SideSlots& slots = ui.focus.two->comparison.slots(of_b);
    const CellReading& reading = *frame->reading;
    if (slots.rows_of(ui.focus.head.kind).token(row) != reading.query ||
        slots.keys_of(ui.focus.head.kind).token(column) != reading.key)
        return std::nullopt;
    return static_cast<double>(reading.weight);
}

void show_both(const Ui& ui, Lines& lines, std::int64_t row, std::int64_t column) {
    const auto a = weight_in(ui, false, row, column), b = weight_in(ui, true, row, column);
    lines.line("p in A", a ? format("{:.5f}", *a) : "–", true);
    lines.line("p in B", b ? format("{:.5f}", *b) : "–", true);
    lines.line("B − A", a && b ? format("{:+.5f}", *b - *a) : "–", true);
    lines.rule();
}

void show_cell(const Ui& ui, Lines& lines, const CellReading& r) {
    const std::int64_t row = ui.focus.row_slots.slot_of(r.query), column = ui.focus.key_slots.slot_of(r.key);
    lines.line("query", token_text(ui.focus.row_labels, row), true);
    lines.line("attends to", token_text(ui.focus.key_labels, column), true);
    lines.rule();
    if (ui.focus.two) show_both(ui, lines, row, column);
    lines.line("p", r.weight == 0 ? "0" : format("{:.5f}", r.weight), true);
    lines.line("logit", std::isfinite(r.logit) ? format("{:.3f}", r.logit) : "masked");
    lines.line("rank in row", std::to_string(r.rank));
    lines.rule();
    lines.line("row sum", format("{:.5f}", r.row_sum));
    lines.line("entropy", format("{:.3f} nat", r.entropy));
    lines.line("effective tokens", format("{:.2f}", r.effective));
    lines.rule();
    lines.title("“" + label_of(ui.focus.row_labels, row) + "” attends to");
    for (const CellReading::Top& top : r.top) {
        if (!lines.room() || top.weight <= 0) break;
        const std::string label = label_of(ui.focus.key_labels, ui.focus.key_slots.slot_of(top.key));
        lines.bar(ui.run.tokens.seen ? label : with_position(label, top.key), static_cast<double>(top.weight),
                  ui.palette.accent);
    }
}

}  // namespace

void draw_inspector(const Ui& ui) {
    const Box& box = ui.layout.inspector;
    const Panel panel("inspector", box);
    if (!panel) return;
    const bool known = ui.run.frame->reading && ui.run.frame->reading->head == ui.focus.head;
    Lines lines(ui, box, heading(ui, box, "Cell", short_name(ui.focus.head)) + ui.px(4));
    if (known) show_cell(ui, lines, *ui.run.frame->reading);
}

}  // namespace vantage::view
