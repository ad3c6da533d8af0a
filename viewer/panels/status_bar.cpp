// The line at the top: menus at the left, the model at work at the right.
#include <algorithm>
#include <cmath>

#include "runtime/base/log.h"
#include "runtime/io/shown_text.h"
#include "viewer/panels/menus.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

ImU32 activity_colour(const Ui& ui, Activity activity) {
    switch (activity) {
        case Activity::reading:
        case Activity::writing: return ui.palette.accent;
        case Activity::failed: return ui.palette.bad;
        default: return ui.palette.faint;
    }
}

/// Pieces from right to left, with a wide space between them.
class Pieces {
public:
    Pieces(const Ui& ui, ImDrawList& list, float right, float left, float y)
        : ui_(ui), list_(list), right_(right), left_(left), y_(y) {}
    void text(std::string_view text, ImU32 colour) {
        if (!fits(text)) return;
        right_ = put_right(list_, small(ui_), right_, y_, colour, text) - ui_.px(18);
    }
    /// As much of it as there is room for.
    void message(const std::string& text, ImU32 colour) {
        int columns = column_width(text);
        while (columns > 1 && !fits(shortened(text, columns))) --columns;
        this->text(shortened(text, columns), colour);
    }
    void dot(ImU32 colour) {
        const float size = ui_.px(4);
        list_.AddCircleFilled({right_ + ui_.px(9), std::round(y_ + ui_.fonts.small_size * 0.55f)}, size, colour, 16);
        right_ -= ui_.px(6);
    }

private:
    bool fits(std::string_view text) const { return right_ - width_of(small(ui_), text) >= left_; }
    const Ui& ui_;
    ImDrawList& list_;
    float right_, left_, y_;
};

/// The worst one is named.
std::string off_rows_text(std::span<const OffRow> rows) {
    const auto off = [](const OffRow& row) { return std::abs(static_cast<double>(row.sum) - 1); };
    const OffRow worst = *std::ranges::max_element(rows, {}, off);
    std::string text =
        format("row %lld sums to %.4g", static_cast<long long>(worst.row), static_cast<double>(worst.sum));
    if (rows.size() > 1) text += format(", %zu rows are off", rows.size());
    return text;
}

void draw_figures(const Ui& ui, Pieces& pieces) {
    const Palette& p = ui.palette;
    if (!ui.data.off_rows.empty())
        pieces.text(off_rows_text(ui.data.off_rows), p.bad);
    else if (ui.data.rows_checked > 0)
        pieces.text("Σrow = 1 ✓", p.good);
    if (!ui.figures.frozen) {
        pieces.text(format("viewing costs %.1f %%", ui.data.cost_percent), p.faint);
        pieces.text(format("gfx %.1f ms", 1e3 * ui.figures.gfx_seconds), p.faint);
        if (ui.data.version.tokens_per_second > 0)
            pieces.text(format("%.0f tok/s", ui.data.version.tokens_per_second), p.ink);
    }
    const Activity activity = ui.data.version.activity;
    const bool live = !ui.state.rows;
    pieces.text(live ? name_of(activity) : "back in time", live ? activity_colour(ui, activity) : p.accent);
    pieces.dot(live ? activity_colour(ui, activity) : p.accent);
    pieces.text(
        ui.figures.device.substr(0, ui.figures.device.find(" (")) + (ui.figures.software ? " · software Vulkan" : ""),
        p.faint);
    pieces.text(ui.figures.model, p.ink);
}

}  // namespace

void draw_status_bar(Ui& ui) {
    const Box& box = ui.layout.bar;
    ImGui::SetNextWindowPos({box.x, box.y});
    ImGui::SetNextWindowSize({box.wide, box.high});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
    ImGui::PushStyleColor(ImGuiCol_WindowBg, ui.palette.background);
    ImGui::Begin("bar", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoNav);
    const float left = draw_menu_names(ui, box, box.x + ui.px(8)) + ui.px(24);
    Pieces pieces(ui, *ImGui::GetWindowDrawList(), box.right() - ui.px(16), left,
                  std::round((box.high - ui.fonts.small_size) / 2));
    const auto error = ui.live.error();
    if (error)
        pieces.message(error->message, ui.palette.bad);
    else if (!ui.at.note.empty())
        pieces.message(ui.at.note, ui.palette.accent);
    else
        draw_figures(ui, pieces);
    ImGui::End();
    ImGui::PopStyleColor();
    ImGui::PopStyleVar();
}

}  // namespace vantage::view
