// Every action with its key, and what a weight does and does not say.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "viewer/panels/actions.h"
#include "viewer/panels/explanations.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// With the keys in force.
std::string help_text(const Ui& ui) {
    const auto key = [&](const char* word) { return text_of(ui.keys.of(action_named(word))); };
    return "Wheel: zoom. Right button: move. Middle button: zoom to a box. Click: pin the query. Shift+click: pin the "
           "key. Double-click: fit. " +
           key("next-panel") + ": next panel. " + key("menu") +
           " or Alt: menus. Keys can be changed (vantage view --keys).\n"
           "A weight shows where a head attends, not why, nor what effect it has. The first token often has a large "
           "weight that means nothing, an attention sink (" +
           key("exclude-first") + " excludes it). In deeper layers each position already mixes several tokens." +
           "\n\nNumbers. Those of a head are means over its queries; the first 3 of a causal text see too few keys.\n" +
           glossary();
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
        lines.push_back({static_cast<Menu>(menu), nullptr, ui.fonts.regular.size + ui.px(16)});
        for (const Action& action : actions())
            if (action.menu == static_cast<Menu>(menu) && action.shortcut != Shortcut{})
                lines.push_back({action.menu, &action, ui.fonts.small.size + ui.px(5)});
    }
    return lines;
}

/// The column of each line, from top to bottom. The actions of a menu are in one.
std::vector<int> help_columns(const std::vector<HelpLine>& lines, float high) {
    std::vector<int> columns;
    int column = 0;
    float y = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        float needed = lines[i].high;
        for (std::size_t j = i + 1; lines[i].action == nullptr && j < lines.size() && lines[j].action != nullptr; ++j)
            needed += lines[j].high;
        if (y > 0 && y + needed > high) ++column, y = 0;
        y += lines[i].high;
        columns.push_back(column);
    }
    return columns;
}

/// The least height at which so many columns have room for all lines: then they are about as long.
float help_height(const std::vector<HelpLine>& lines, int columns) {
    float all = 0, menu = 0, longest = 0;
    for (const HelpLine& line : lines) {
        all += line.high;
        menu = line.action == nullptr ? line.high : menu + line.high;
        longest = std::max(longest, menu);
    }
    float high = std::max(all / static_cast<float>(columns), longest);
    while (help_columns(lines, high).back() >= columns) high += lines.back().high;
    return high;
}

constexpr float help_key = 68;  // width of the keys

/// Of a column in which all names have room.
float help_column_width(const Ui& ui, const std::vector<HelpLine>& lines) {
    float longest = 0;
    for (const HelpLine& line : lines)
        if (line.action != nullptr) longest = std::max(longest, width_of(small(ui), line.action->name));
    return ui.px(help_key + 10 + 8) + std::ceil(longest);
}

void draw_help_line(const Ui& ui, const HelpLine& line, float x, float y, float wide) {
    if (line.action == nullptr) {
        put(bold(ui), x, y + ui.px(10), ui.palette.accent, name_of(line.menu));
        return;
    }
    const float key = ui.px(help_key);
    put_right(small(ui), x + key, y, ui.palette.strong, text_of(ui.keys.of(*line.action)));
    put(small(ui), x + key + ui.px(10), y, ui.palette.ink,
        fitted(small(ui), line.action->name, wide - key - ui.px(10)));
}

void draw_help_lines(const Ui& ui, const std::vector<HelpLine>& lines, const Box& box, int count) {
    const std::vector<int> columns = help_columns(lines, box.high);
    const float wide = box.wide / static_cast<float>(count);
    float y = box.y;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i > 0 && columns[i] != columns[i - 1]) y = box.y;
        draw_help_line(ui, lines[i], box.x + wide * static_cast<float>(columns[i]), y, wide - ui.px(8));
        y += lines[i].high;
    }
}

/// Keys and what weights tell; where the window is small it is scrolled.
void draw_help_page(const Ui& ui, const std::vector<HelpLine>& lines, const Box& box, int columns) {
    ImGui::SetCursorScreenPos({box.x, box.y});
    const ScrolledPart part("help page", {box.wide, box.high});
    if (const int step = std::exchange(ui.at.help_step, 0); step != 0)
        ImGui::SetScrollY(std::max(0.0f, ImGui::GetScrollY() + static_cast<float>(step) * lines.back().high));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float wide = ImGui::GetContentRegionAvail().x, high = help_height(lines, columns);
    draw_help_lines(ui, lines, {at.x, at.y, wide, high}, columns);
    ImGui::Dummy({1, high + ui.px(6)});
    ImGui::PushTextWrapPos(wide);
    ImGui::PushStyleColor(ImGuiCol_Text, ui.palette.faint);
    ImGui::TextUnformatted(help_text(ui).c_str());
    ImGui::PopStyleColor();
    ImGui::PopTextWrapPos();
}

}  // namespace

void draw_help(const Ui& ui) {
    constexpr float max_columns = 4;
    const ImVec2 all = ImGui::GetIO().DisplaySize;
    const std::vector<HelpLine> lines = help_lines(ui);
    const float column = help_column_width(ui, lines), room = all.x - ui.px(16 + 40 + 14);  // beside a scroll bar
    const auto columns = static_cast<int>(std::clamp(std::floor(room / column), 1.0f, max_columns));
    const float inside = std::min(std::max(column * static_cast<float>(columns), ui.px(600)), room) + ui.px(14),
                wide = inside + ui.px(40);
    const float above = ui.px(24) + ui.fonts.title.size, below = ui.px(16);
    const float text = ImGui::CalcTextSize(help_text(ui).c_str(), nullptr, false, inside).y + ui.px(12) +
                       ImGui::GetStyle().ItemSpacing.y;
    const float high = std::min(above + help_height(lines, columns) + text + below, all.y - ui.px(16));
    const Box box{std::round((all.x - wide) / 2), std::round((all.y - high) / 2), wide, std::round(high)};
    ImGui::SetNextWindowFocus();
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
    const Panel panel("help", box, 0);
    ImGui::PopStyleVar();
    const float top = box.y + ui.px(14), left = box.x + ui.px(20);
    put(title(ui), left, top, ui.palette.strong, "Keys");
    put_right(
        small(ui), box.right() - ui.px(20), top + ui.px(5), ui.palette.faint,
        text_of(ui.keys.of(action_named("help"))) + " or " + text_of(ui.keys.of(action_named("escape"))) + ": close");
    draw_help_page(ui, lines, {left, box.y + above, inside, box.high - above - below}, columns);
    if (ImGui::IsMouseClicked(0) && !has_mouse(box)) ui.at.help = false;
}

bool act_in_help(Interaction& at, const Shortcut& shortcut) {
    constexpr int page = 12, all = 1000;  // lines
    switch (shortcut.key) {
        case Key::up: at.help_step = -1; return true;
        case Key::down: at.help_step = 1; return true;
        case Key::page_up: at.help_step = -page; return true;
        case Key::page_down: at.help_step = page; return true;
        case Key::home: at.help_step = -all; return true;
        case Key::end: at.help_step = all; return true;
        default: return false;
    }
}

}  // namespace vantage::view
