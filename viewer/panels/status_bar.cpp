// The line at the top: menus at the left, the model at work at the right.
#include <cmath>

#include "runtime/base/log.h"
#include "viewer/panels/actions.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/viewer.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

void draw_menu(Viewer& viewer, Menu menu) {
    if (!ImGui::BeginMenu(name_of(menu))) return;
    for (const Action& action : actions()) {
        if (action.menu != menu) continue;
        if (action.group) ImGui::Separator();
        const bool on = action.on != nullptr && action.on(viewer);
        if (ImGui::MenuItem(action.name, text_of(action.shortcut).c_str(), on)) action.run(viewer);
    }
    ImGui::EndMenu();
}

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
        if (right_ - width_of(small(ui_), text) < left_) return;
        right_ = put_right(list_, small(ui_), right_, y_, colour, text) - ui_.px(18);
    }
    void dot(ImU32 colour) {
        const float size = ui_.px(4);
        list_.AddCircleFilled({right_ + ui_.px(9), std::round(y_ + ui_.fonts.small_size * 0.55f)}, size, colour, 16);
        right_ -= ui_.px(6);
    }

private:
    const Ui& ui_;
    ImDrawList& list_;
    float right_, left_, y_;
};

void draw_figures(const Ui& ui, Pieces& pieces) {
    const Palette& p = ui.palette;
    if (const auto error = ui.data.row_sum_error) {
        const bool good = *error <= 2e-3;
        pieces.text(good ? "Σrow = 1 ✓" : format("Σrow off by %.1e", *error), good ? p.good : p.bad);
    }
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

void draw_status_bar(Ui& ui, Viewer& viewer) {
    const Box& box = ui.layout.bar;
    ImGui::SetNextWindowPos({box.x, box.y});
    ImGui::SetNextWindowSize({box.wide, box.high});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ui.px(8), std::round((box.high - ui.fonts.regular_size) / 2)});
    ImGui::Begin("bar", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_MenuBar | ImGuiWindowFlags_NoNav);
    if (ImGui::BeginMenuBar()) {
        for (int i = 0; i < menu_count; ++i) draw_menu(viewer, static_cast<Menu>(i));
        const float left = ImGui::GetCursorScreenPos().x + ui.px(24);
        ImDrawList& list = *ImGui::GetWindowDrawList();
        Pieces pieces(ui, list, box.right() - ui.px(16), left, std::round((box.high - ui.fonts.small_size) / 2));
        const auto error = ui.live.error();
        if (error)
            pieces.text(error->message, ui.palette.bad);
        else if (!ui.at.note.empty())
            pieces.text(ui.at.note, ui.palette.accent);
        else
            draw_figures(ui, pieces);
        ImGui::EndMenuBar();
    }
    ImGui::End();
    ImGui::PopStyleVar(2);
}

}  // namespace vantage::view
