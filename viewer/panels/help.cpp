// Every action with its key, and what a weight does and does not say.
#include <algorithm>
#include <cmath>

#include "viewer/panels/actions.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

constexpr const char* caveats =
    "A weight says where a head reads, not why, nor what it does with what it reads. The first token is often where a "
    "head "
    "rests that has nothing to read (X leaves it out). Deeper layers read tokens that have already mixed.";
constexpr const char* mouse_help =
    "Wheel zooms, right button drags, middle button draws a box to zoom into. A click pins a row, Shift and a click a "
    "key; "
    "twice shows all.";

constexpr float help_columns = 4;

float draw_menu_part(const Ui& ui, ImDrawList& list, Menu menu, float x, float y, float wide) {
    put(list, bold(ui), x, y, ui.palette.accent, name_of(menu));
    y += ui.fonts.regular_size + ui.px(6);
    for (const Action& action : actions()) {
        if (action.menu != menu) continue;
        put_right(list, small(ui), x + ui.px(72), y, ui.palette.strong, text_of(ui.keys.of(action)));
        put(list, small(ui), x + ui.px(84), y, ui.palette.ink, fitted(small(ui), action.name, wide - ui.px(84)));
        y += ui.fonts.small_size + ui.px(5);
    }
    return y + ui.px(10);
}

}  // namespace

void draw_help(Ui& ui) {
    const ImVec2 all = ImGui::GetIO().DisplaySize;
    const float wide = std::min(ui.px(1140), all.x - ui.px(24)), high = std::min(ui.px(520), all.y - ui.px(24));
    const Box box{std::round((all.x - wide) / 2), std::round((all.y - high) / 2), wide, high};
    ImGui::SetNextWindowPos({box.x, box.y});
    ImGui::SetNextWindowSize({box.wide, box.high});
    ImGui::SetNextWindowFocus();
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
    ImGui::Begin("help", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_NoNav);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float top = box.y + ui.px(18), left = box.x + ui.px(24);
    put(list, title(ui), left, top, ui.palette.strong, "Keys");
    put_right(list, small(ui), box.right() - ui.px(24), top + ui.px(5), ui.palette.faint, "? or Esc closes");
    const float column = (box.wide - ui.px(48)) / help_columns, first = top + ui.fonts.title_size + ui.px(14);
    const float bottom = box.bottom() - ui.px(96);
    float x = left, y = first;
    for (int i = 0; i < menu_count; ++i) {
        const auto menu = static_cast<Menu>(i);
        float needed = ui.fonts.regular_size + ui.px(16);
        for (const Action& action : actions()) needed += action.menu == menu ? ui.fonts.small_size + ui.px(5) : 0;
        if (y > first && y + needed > bottom) x += column, y = first;
        y = draw_menu_part(ui, list, menu, x, y, column - ui.px(10));
    }
    ImGui::SetCursorScreenPos({left, bottom + ui.px(14)});
    ImGui::PushTextWrapPos(box.wide - ui.px(24));
    ImGui::PushStyleColor(ImGuiCol_Text, ui.palette.faint);
    ImGui::TextUnformatted((std::string(mouse_help) + "\n" + caveats).c_str());
    ImGui::PopStyleColor();
    ImGui::PopTextWrapPos();
    if (ImGui::IsMouseClicked(0) && !ImGui::IsWindowHovered()) ui.at.help = false;
    ImGui::End();
    ImGui::PopStyleVar();
}

}  // namespace vantage::view
