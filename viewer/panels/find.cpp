// Finds a token by a part of its text: Enter pins the next match.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/picture/shown_text.h"
#include "viewer/panels/moves.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/viewed_runs.h"
#include "viewer/panels/viewer.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// Of the first `rows` tokens the next after `from` whose label contains the text, wrapping around; -1: none.
std::int64_t next_with(const std::vector<std::string>& labels, std::int64_t rows, const std::string& text,
                       std::int64_t from) {
    const std::int64_t count = std::min(std::ssize(labels), rows);
    for (std::int64_t i = 1; i <= count; ++i) {
        const std::int64_t token = (std::max<std::int64_t>(from, -1) + i) % count;
        if (at(labels, token).find(text) != std::string::npos) return token;
    }
    return -1;
}

void pin_next(const Ui& ui, Viewer& view) {
    constexpr int max_columns = 40;                                               // of the text in the message
    const std::string wanted = ui.fonts.legible(ui.fonts.of_field(ui.at.found));  // written like labels
    if (wanted.empty()) return;
    const std::int64_t from = ui.state.pins.empty() ? -1 : ui.state.pins.back().token;
    const std::int64_t token = next_with(ui.focus.row_labels, view.runs().rows(), wanted, from);
    if (token < 0) return view.say("no token has “" + shortened(wanted, max_columns) + "”");
    ui.state.pins = {{Pin::Kind::query, token}};
    scroll_to(view, token, token);
}

}  // namespace

void draw_find(const Ui& ui, Viewer& view) {
    const Box& focus = ui.layout.focus;
    const float wide = std::min(ui.px(280), focus.wide - ui.px(24));
    place_window({std::round(focus.x + (focus.wide - wide) / 2), focus.y + ui.px(40), wide, 0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
    ImGui::Begin("find", nullptr, fixed_window);
    ImGui::SetNextItemWidth(-1);
    if (ui.at.focus_find) ImGui::SetKeyboardFocusHere();
    ui.at.focus_find = false;
    if (ImGui::InputTextWithHint("##find", "Find a token; Enter: next match", &ui.at.found,
                                 ImGuiInputTextFlags_EnterReturnsTrue)) {
        pin_next(ui, view);
        ui.at.focus_find = true;
    } else if (ImGui::IsItemDeactivated()) {
        ui.at.find = false;
    }
    ImGui::End();
    ImGui::PopStyleVar();
}

}  // namespace vantage::view
