#include "viewer/panels/menus.h"

#include <algorithm>

#include "viewer/panels/viewer.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

std::vector<const Action*> actions_of(Menu menu) {
    std::vector<const Action*> all;
    for (const Action& action : actions())
        if (action.menu == menu) all.push_back(&action);
    return all;
}

void open(Interaction& at, Menu menu) {
    at.menu = menu;
    at.menu_line = 0;
}

void run_and_close(Viewer& view, const Action& action) {
    view.at().menu.reset();
    perform(view, action);
}

/// Returns whether it was clicked.
bool draw_line(const Ui& ui, const Viewer& view, const Action& action, int line, float wide) {
    const float high = ui.fonts.regular.size + ui.px(8);
    if (action.group) {
        const ImVec2 at = ImGui::GetCursorScreenPos();
        fill({at.x, at.y + ui.px(3), wide, 1}, ui.palette.line);
        ImGui::Dummy({wide, ui.px(7)});
    }
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const bool clicked = ImGui::InvisibleButton(action.word, {wide, high});
    if (ImGui::IsItemHovered() && mouse_moved()) ui.at.menu_line = line;
    const bool chosen = ui.at.menu_line == line;
    if (chosen) fill({at.x, at.y, wide, high}, ui.palette.line, ui.px(4));
    if (chosen && ui.at.menu_moved) ImGui::SetScrollHereY();
    const float y = at.y + ui.px(4);
    const bool on = action.on != nullptr && action.on(view), refused = refusal_of(action, view) != nullptr;
    const ImVec2 middle{at.x + ui.px(12), at.y + std::round(high / 2)};
    if (on && action.choice)
        window_list().AddCircleFilled(middle, ui.px(3), ui.palette.accent);
    else if (action.choice)
        window_list().AddCircle(middle, ui.px(3), ui.palette.line);
    else if (on)
        put(regular(ui), at.x + ui.px(6), y, ui.palette.accent, "✓");
    put(regular(ui), at.x + ui.px(26), y, refused ? faded(ui.palette.faint, 0.6f) : ui.palette.ink, action.name);
    put_right(regular(ui), at.x + wide - ui.px(8), y, ui.palette.faint, text_of(ui.keys.of(action)));
    return clicked;
}

float width_wanted(const Ui& ui, const std::vector<const Action*>& lines) {
    float wide = 0;
    for (const Action* action : lines)
        wide =
            std::max(wide, width_of(regular(ui), action->name) + width_of(regular(ui), text_of(ui.keys.of(*action))));
    return wide + ui.px(26 + 28 + 8);
}

/// Panels do not see the click that closes the menu.
void block_panels(const Ui& ui) {
    const ImVec2 all = ImGui::GetIO().DisplaySize;
    ImGui::SetNextWindowFocus();
    const Panel panel("below the menu", {0, ui.layout.bar.bottom(), all.x, all.y - ui.layout.bar.bottom()},
                      ImGuiWindowFlags_NoBackground);
}

}  // namespace

float draw_menu_names(const Ui& ui, const Box& box, float left) {
    const bool tight = box.wide < ui.px(420);
    const Face face = tight ? small(ui) : regular(ui);
    const float margin = ui.px(tight ? 4 : 9);
    for (int i = 0; i < menu_count; ++i) {
        const auto menu = static_cast<Menu>(i);
        const Box place{left, box.y, width_of(face, name_of(menu)) + 2 * margin, box.high};
        ImGui::SetCursorScreenPos({place.x, place.y});
        ImGui::InvisibleButton(name_of(menu), {place.wide, place.high});
        const bool hovered = ImGui::IsItemHovered() || (ui.at.menu && has_mouse(place));
        if (hovered && ImGui::IsMouseClicked(0))
            ui.at.menu == menu ? ui.at.menu.reset() : open(ui.at, menu);
        else if (hovered && mouse_moved() && ui.at.menu && ui.at.menu != menu)
            open(ui.at, menu);
        if (ui.at.menu == menu) ui.at.menu_left = left;
        if (hovered || ui.at.menu == menu) fill(place.inset(ui.px(3)), ui.palette.raised, ui.px(4));
        put(face, left + margin, box.y + (box.high - face.size) / 2, ui.palette.ink, name_of(menu));
        left = place.right();
    }
    return left;
}

void draw_open_menu(const Ui& ui, Viewer& view) {
    if (!ui.at.menu) return;
    const std::vector<const Action*> lines = actions_of(*ui.at.menu);
    const ImVec2 all = ImGui::GetIO().DisplaySize;
    const float padding = ui.px(6), wide = width_wanted(ui, lines), top = ui.layout.bar.bottom();
    float high = 2 * padding;
    for (const Action* action : lines) high += ui.fonts.regular.size + ui.px(action->group ? 15 : 8);
    const bool scrolls = high > all.y - top - ui.px(4);
    const float whole = wide + 2 * padding + (scrolls ? ui.px(12) : 0);
    block_panels(ui);
    place_window({std::clamp(ui.at.menu_left, 0.0f, std::max(0.0f, all.x - whole)), top, whole,
                  std::min(high, all.y - top - ui.px(4))});
    ImGui::SetNextWindowFocus();
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {padding, padding});
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
    ImGui::Begin("menu", nullptr,
                 ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
                     ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav);
    const Action* wanted = nullptr;
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (draw_line(ui, view, *lines[i], static_cast<int>(i), wide)) wanted = lines[i];
    ui.at.menu_moved = false;
    const bool elsewhere = !ImGui::IsWindowHovered() && !has_mouse(ui.layout.bar);
    ImGui::End();
    ImGui::PopStyleVar(3);
    if (wanted != nullptr)
        run_and_close(view, *wanted);
    else if (elsewhere && ImGui::IsMouseClicked(0))
        ui.at.menu.reset();
}

void open_or_close_menus(Viewer& view) { view.at().menu ? view.at().menu.reset() : open(view.at(), Menu::file); }

void act_in_menu(Viewer& view, const Shortcut& shortcut) {
    Interaction& at = view.at();
    const std::vector<const Action*> lines = actions_of(*at.menu);
    const auto count = static_cast<int>(lines.size());
    const auto turn = [](int value, int step, int all) { return (value + step + all) % all; };
    at.menu_moved = true;
    switch (shortcut.key) {
        case Key::left:
        case Key::right:
            return open(at, static_cast<Menu>(
                                turn(static_cast<int>(*at.menu), shortcut.key == Key::left ? -1 : 1, menu_count)));
        case Key::up: at.menu_line = turn(at.menu_line, -1, count); return;
        case Key::down: at.menu_line = turn(at.menu_line, 1, count); return;
        case Key::home: at.menu_line = 0; return;
        case Key::end: at.menu_line = count - 1; return;
        case Key::enter: return run_and_close(view, *vantage::at(lines, at.menu_line));
        default: at.menu.reset();
    }
}

}  // namespace vantage::view
