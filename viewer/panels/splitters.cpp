// The boundaries between panels: the mouse and keys move them.
#include <algorithm>
#include <cmath>

#include "viewer/panels/moves.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/viewer.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// A size that a splitter sets, from pixels; 0 would be automatic.
std::int64_t size_of(float pixels, float scale) { return std::max<std::int64_t>(1, std::lround(pixels / scale)); }

void drag(const Ui& ui, const Splitter& splitter) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const float at = splitter.upright ? mouse.x : mouse.y;
    std::int64_t& size = ui.state.panels.*splitter.size;
    if (ImGui::IsItemActivated()) ui.at.splitter_from = {splitter.now, at};
    if (ImGui::IsItemActive() && mouse_moved())
        size = size_of(ui.at.splitter_from.size + splitter.sign * (at - ui.at.splitter_from.at), ui.scale);
    if (ImGui::IsItemDeactivated() && size != 0) size = size_of(splitter.now, ui.scale);  // what there was room for
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(0)) size = 0;
}

void draw_splitter(const Ui& ui, const Splitter& splitter) {
    const Box& box = splitter.box;
    const std::string name = std::string("splitter ") + splitter.name;
    // A splitter is narrower than ImGui's minimum window and default padding, which would clip its clicks.
    ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, {1, 1});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    const Panel panel(name.c_str(), box,
                      ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoBringToFrontOnFocus |
                          ImGuiWindowFlags_NoFocusOnAppearing);  // a text field keeps the keys
    ImGui::PopStyleVar(2);
    if (!panel) return;
    ImGui::SetCursorScreenPos({box.x, box.y});
    ImGui::InvisibleButton(splitter.name, {box.wide, box.high});
    drag(ui, splitter);
    const bool active = ImGui::IsItemActive();
    if (!active && !ImGui::IsItemHovered()) return;
    ImGui::SetMouseCursor(splitter.upright ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
    fill(splitter.upright ? Box{std::round(box.x + box.wide / 2) - 1, box.y, 2, box.high}
                          : Box{box.x, std::round(box.y + box.high / 2) - 1, box.wide, 2},
         ui.palette.accent);
    if (!active) ImGui::SetTooltip("Drag: size of the panel\nDouble-click: automatic size");
}

}  // namespace

void draw_splitters(const Ui& ui) {
    for (const Splitter& splitter : splitters(ui.layout)) draw_splitter(ui, splitter);
}

void resize_panel(Viewer& v, int step) {
    constexpr float pixels = 24;
    const Area area = v.at().area.value_or(Area::map);
    const bool text = area == Area::text, heads = area == Area::heads || area == Area::numbers, map = !text && !heads;
    const auto sizes = [&](const Splitter& s) {
        if (map) return s.upright;  // the width of the map follows from the panels beside it
        return s.size == (text ? &PanelSizes::text_height : &PanelSizes::heads_width);
    };
    const float change = static_cast<float>(map ? -step : step) * pixels * v.scale();
    bool moved = false;
    for (const Splitter& s : splitters(v.layout()))
        if (sizes(s)) v.state().panels.*s.size = size_of(std::max(0.0f, s.now + change), v.scale()), moved = true;
    if (!moved) v.say("the size of this panel follows from the others");
}

}  // namespace vantage::view
