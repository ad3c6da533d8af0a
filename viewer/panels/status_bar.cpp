// The menu bar: menus at the left, the state of the model at the right.
#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"
#include "viewer/panels/menus.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

constexpr float error_beside = 12, error_above = 8;  // margins of an error in its panel

ImU32 activity_colour(const Ui& ui, Activity activity) {
    switch (activity) {
        case Activity::reading:
        case Activity::learning:
        case Activity::writing: return ui.palette.accent;
        case Activity::failed: return ui.palette.bad;
        default: return ui.palette.faint;
    }
}

/// Texts from right to left, separated by spaces.
class Pieces {
public:
    /// Texts end at `right`. They begin right of the menus, those without a dot also right of the note.
    Pieces(const Ui& ui, float right, float menus, float note, float y)
        : ui_(ui), right_(right), menus_(menus), note_(note), y_(y) {}
    /// Draws a text if it fits. Otherwise it and all later, less important ones are left out.
    void text(std::string_view text, ImU32 colour, std::string_view explained = {}, bool dot = false) {
        const float marked = dot ? ui_.px(18) : 0, wide = width_of(small(ui_), text);
        full_ = (full_ && !dot) || right_ - wide - marked < (dot ? menus_ : note_);
        if (full_) return;
        explain_number(ui_, {right_ - wide, ui_.layout.bar.y, wide, ui_.layout.bar.high}, explained);
        right_ = put_right(small(ui_), right_, y_, colour, text) - ui_.px(18) - marked;
        if (dot)
            window_list().AddCircleFilled({right_ + ui_.px(27), std::round(y_ + ui_.fonts.small.size * 0.55f)},
                                          ui_.px(4), colour, 16);
    }
    /// Where the texts begin.
    float left() const { return right_; }

private:
    const Ui& ui_;
    float right_, menus_, note_, y_;
    bool full_ = false;
};

/// The message of the last action, or an error that has no place of its own.
const std::string& note_of(const Ui& ui) {
    return ui.at.note.empty() && ui.layout.message.wide <= 0 ? ui.figures.error : ui.at.note;
}

/// Between the menus and the figures; where that is too narrow, over the menus' names, in two lines: it must not cover
/// data, and nothing may move while it comes and goes.
void draw_note(const Ui& ui, float left, float right) {
    const Face face = small(ui);
    const Box& bar = ui.layout.bar;
    const float margin = ui.px(9), wide = width_of(face, note_of(ui)) + 2 * margin;
    Box box{left, bar.y + ui.px(4), wide, bar.high - ui.px(8)};
    if (left + wide > right)
        box.x = bar.x + ui.px(4), box.wide = right - box.x, box.y -= ui.px(2), box.high += ui.px(4);
    fill(box, ui.palette.raised, ui.px(4));
    const float room = box.wide - 2 * margin, high = std::min(wrapped_height(face, note_of(ui), room), box.high);
    put_wrapped(face, {box.x + margin, box.y + (box.high - high) / 2, room, high},
                ui.at.note.empty() ? ui.palette.bad : ui.palette.accent, note_of(ui));
}

/// Names the worst row.
std::string off_rows_text(std::span<const OffRow> rows) {
    const auto off = [](const OffRow& row) { return std::abs(static_cast<double>(row.sum) - 1); };
    const OffRow worst = *std::ranges::max_element(rows, {}, off);
    std::string text = format("row {} sums to {:.4g}", worst.row, worst.sum);
    if (rows.size() > 1) text += format(", {} rows do not sum to 1", rows.size());
    return text;
}

std::string viewing_text(const Ui& ui) {
    if (!ui.state.rows) return format("viewing step {}", *ui.at.step);
    return format("viewing token {} of {}", std::min(*ui.state.rows, ui.focus.all_rows), ui.focus.all_rows);
}

/// The most important first: where the bar is narrow, the last are left out.
void draw_figures(const Ui& ui, Pieces& pieces) {
    const Palette& p = ui.palette;
    if (!ui.run.frame->off_rows.empty()) pieces.text(off_rows_text(ui.run.frame->off_rows), p.bad, "rows sum to 1");
    const Version& version = ui.run.version;
    const bool live = !ui.state.rows && !ui.at.step;
    pieces.text(live ? std::string(status_of(version)) : viewing_text(ui),
                live ? activity_colour(ui, version.activity) : p.accent, live ? "" : "Time", true);
    if (!ui.figures.frozen && ui.run.frame->version.tokens_per_second > 0)
        pieces.text(speed_text(ui.run.frame->version.tokens_per_second), p.ink, "tok/s");
    pieces.text(ui.figures.model, p.ink);
    if (ui.run.frame->off_rows.empty() && ui.run.frame->rows_checked > 0)
        pieces.text("rows sum to 1 ✓", p.good, "rows sum to 1");
    if (!ui.figures.frozen) {
        constexpr double all_of_it = 99;  // viewing and the model may run at the same time
        if (version.activity == Activity::reading || version.activity == Activity::writing)
            pieces.text(format("model slowed by {:.0f} %", std::min(ui.run.frame->cost_percent, all_of_it)), p.faint,
                        "slowdown");
        pieces.text(format("frame {:.1f} ms", 1e3 * ui.figures.frame_seconds), p.faint, "frame");
    }
    pieces.text(
        ui.figures.device.substr(0, ui.figures.device.find(" (")) + (ui.figures.software ? " · software Vulkan" : ""),
        p.faint, "device");
}

}  // namespace

void draw_status_bar(const Ui& ui) {
    const Box& box = ui.layout.bar;
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
    ImGui::PushStyleColor(ImGuiCol_WindowBg, ui.palette.background);
    const Panel panel("bar", box);
    ImGui::PopStyleColor();
    ImGui::PopStyleVar();
    const bool noted = !note_of(ui).empty() && !ui.at.menu;
    const float left = draw_menu_names(ui, box, box.x + ui.px(8)) + ui.px(24),
                note = noted ? width_of(small(ui), note_of(ui)) + ui.px(36) : 0;
    Pieces pieces(ui, box.right() - ui.px(16), left, left + note, std::round((box.high - ui.fonts.small.size) / 2));
    draw_figures(ui, pieces);
    if (noted) draw_note(ui, left, pieces.left());
}
void draw_error(const Ui& ui) {
    const Panel panel("message", ui.layout.message);
    if (!panel) return;
    const Box& box = ui.layout.message;
    const float beside = ui.px(error_beside), above = ui.px(error_above);
    put_wrapped(small(ui), {box.x + beside, box.y + above, box.wide - 2 * beside, box.high - 2 * above}, ui.palette.bad,
                ui.figures.error);
}

float error_height(const Face& face, const std::string& text, float wide, float scale) {
    const float beside = std::round(error_beside * scale), above = std::round(error_above * scale);
    return text.empty() ? 0 : std::ceil(wrapped_height(face, text, wide - 2 * beside)) + 2 * above;
}

void draw_too_small(const Ui& ui) {
    const ImVec2 all = ImGui::GetIO().DisplaySize;
    const std::string text =
        format("the window is too small: it needs {:.0f} × {:.0f} pixels", ui.px(min_width), ui.px(min_height));
    put_middle(small(ui), all.x / 2, (all.y - ui.fonts.small.size) / 2, ui.palette.ink,
               fitted(small(ui), text, all.x - ui.px(8)), foreground());
}

}  // namespace vantage::view
