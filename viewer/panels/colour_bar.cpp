// What a colour means: the bar, its ticks, and handles to move its bright end.
#include <algorithm>
#include <cmath>

#include "runtime/base/log.h"
#include "runtime/io/weight_scale.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

constexpr double least_bright_end = 1e-3;

/// The bright end follows the mouse: dragging the handle down by the whole bar takes it to a hundredth.
void drag_bright_end(Ui& ui, const Box& bar) {
    ImGui::SetCursorScreenPos({bar.x - ui.px(4), bar.y - ui.px(6)});
    ImGui::InvisibleButton("bright end", {bar.wide + ui.px(8), bar.high + ui.px(12)});
    const ImGuiIO& io = ImGui::GetIO();
    if (ImGui::IsItemHovered() && io.MouseWheel != 0)
        ui.state.value_max *= std::pow(0.85, static_cast<double>(io.MouseWheel));
    if (ImGui::IsItemActive() && io.MouseDelta.y != 0)
        ui.state.value_max *= std::pow(100.0, -static_cast<double>(io.MouseDelta.y / bar.high));
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(0)) ui.state.value_max = 1;
    ui.state.value_max = std::clamp(ui.state.value_max, least_bright_end, 1e3);
}

void draw_handle(const Ui& ui, ImDrawList& list, const Box& bar, bool hot) {
    const float size = ui.px(5), y = bar.y;
    list.AddTriangleFilled({bar.x - ui.px(2) - size, y - size}, {bar.x - ui.px(2), y},
                           {bar.x - ui.px(2) - size, y + size}, hot ? ui.palette.accent : ui.palette.faint);
}

}  // namespace

void draw_colour_bar(Ui& ui, const Box& box) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Box bar{box.x, box.y, ui.px(14), box.high};
    if (bar.high < ui.px(40)) return;
    drag_bright_end(ui, bar);
    const bool hot = ImGui::IsItemHovered() || ImGui::IsItemActive();
    const ColourTable& colours = colours_of(ui.state.colours);
    const auto steps = static_cast<int>(bar.high);
    for (int i = 0; i < steps; ++i) {
        const auto share = 1 - (static_cast<float>(i) + 0.5f) / static_cast<float>(steps);
        const auto colour = static_cast<std::size_t>(std::lround(share * 255));
        fill(list, {bar.x, bar.y + static_cast<float>(i), bar.wide, 1}, packed(colours[colour]));
    }
    draw_handle(ui, list, bar, hot);
    const auto bright = static_cast<float>(ui.state.value_max);
    for (const ScaleTick& tick : scale_ticks(bright, ui.state.scale)) {
        const float y = bar.bottom() - tick.position * bar.high;
        fill(list, {bar.right(), std::round(y) - (tick.position >= 1 ? 0.0f : 1.0f), ui.px(4), 1}, ui.palette.faint);
        put(list, small(ui), bar.right() + ui.px(8), y - ui.fonts.small_size * 0.6f, ui.palette.ink, tick.text);
    }
}

}  // namespace vantage::view
