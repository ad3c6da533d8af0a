// Every action with its key, and what a weight does and does not say.
#include <algorithm>
#include <cmath>
#include <vector>

#include "viewer/panels/actions.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// With the keys in force.
std::string help_text(const Ui& ui) {
    const auto key = [&](const char* word) { return text_of(ui.keys.of(action_named(word))); };
    return "Wheel zooms, right button drags, middle button draws a box to zoom into. A click pins a row, Shift and a "
           "click a key; twice shows all. " +
           key("next-panel") + " goes from panel to panel, " + key("menu") +
           " opens the menus; keys are yours to change (vantage view --keys).\n"
           "A weight says where a head reads, not why, nor what it does with what it reads. The first token is often "
           "where a head rests that has nothing to read (" +
           key("sink-off") + " leaves it out). Deeper layers read tokens that have already mixed.";
}

/// A menu's name, or an action of it.
struct HelpLine {
    Menu menu;
    const Action* action;
    float high;
};

std::vector<HelpLine> help_lines(const Ui& ui) {
    std::vector<HelpLine> lines;
    for (int menu = 0; menu < menu_count; ++menu) {
        lines.push_back({static_cast<Menu>(menu), nullptr, ui.fonts.regular_size + ui.px(16)});
        for (const Action& action : actions())
            if (action.menu == static_cast<Menu>(menu))
                lines.push_back({action.menu, &action, ui.fonts.small_size + ui.px(5)});
    }
    return lines;
}

/// The column of each line, from top to bottom; a menu's name is never the last of a column.
std::vector<int> help_columns(const std::vector<HelpLine>& lines, float high) {
    std::vector<int> columns;
    int column = 0;
    float y = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const float needed = lines[i].high + (lines[i].action == nullptr ? lines[i + 1].high : 0);
        if (y > 0 && y + needed > high) ++column, y = 0;
        y += lines[i].high;
        columns.push_back(column);
    }
    return columns;
}

void draw_help_line(const Ui& ui, ImDrawList& list, const HelpLine& line, float x, float y, float wide) {
    if (line.action == nullptr) {
        put(list, bold(ui), x, y + ui.px(10), ui.palette.accent, name_of(line.menu));
        return;
    }
    const float key = ui.px(68);
    put_right(list, small(ui), x + key, y, ui.palette.strong, text_of(ui.keys.of(*line.action)));
    put(list, small(ui), x + key + ui.px(10), y, ui.palette.ink,
        fitted(small(ui), line.action->name, wide - key - ui.px(10)));
}

void draw_help_lines(const Ui& ui, ImDrawList& list, const Box& box) {
    constexpr int usual_columns = 4;
    const std::vector<HelpLine> lines = help_lines(ui);
    const std::vector<int> columns = help_columns(lines, box.high);
    const float wide = box.wide / static_cast<float>(std::max(usual_columns, columns.back() + 1));
    float y = box.y;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i > 0 && columns[i] != columns[i - 1]) y = box.y;
        draw_help_line(ui, list, lines[i], box.x + wide * static_cast<float>(columns[i]), y, wide - ui.px(8));
        y += lines[i].high;
    }
}

}  // namespace

void draw_help(Ui& ui) {
    const ImVec2 all = ImGui::GetIO().DisplaySize;
    const float wide = std::min(ui.px(1140), all.x - ui.px(24)), high = std::min(ui.px(580), all.y - ui.px(24));
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
    put_right(
        list, small(ui), box.right() - ui.px(24), top + ui.px(5), ui.palette.faint,
        text_of(ui.keys.of(action_named("help"))) + " or " + text_of(ui.keys.of(action_named("escape"))) + " closes");
    const float first = top + ui.fonts.title_size + ui.px(4), bottom = box.bottom() - ui.px(96);
    draw_help_lines(ui, list, {left, first, box.wide - ui.px(48), bottom - first});
    ImGui::SetCursorScreenPos({left, bottom + ui.px(14)});
    ImGui::PushTextWrapPos(box.wide - ui.px(24));
    ImGui::PushStyleColor(ImGuiCol_Text, ui.palette.faint);
    ImGui::TextUnformatted(help_text(ui).c_str());
    ImGui::PopStyleColor();
    ImGui::PopTextWrapPos();
    if (ImGui::IsMouseClicked(0) && !ImGui::IsWindowHovered()) ui.at.help = false;
    ImGui::End();
    ImGui::PopStyleVar();
}

}  // namespace vantage::view
