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

/// The next token after `from` whose label contains the text, wrapping around; -1: none.
std::int64_t next_with(std::span<const std::string> labels, const std::string& text, std::int64_t from) {
    const auto count = std::ssize(labels);
    for (std::int64_t i = 1; i <= count; ++i) {
        const std::int64_t token = (std::max<std::int64_t>(from, -1) + i) % count;
        if (at(labels, token).find(text) != std::string::npos) return token;
    }
    return -1;
}

void pin_next(Ui& ui, const std::vector<std::string>& labels, Viewer& view) {
    constexpr int max_columns = 40;  // of the text in the message
    const ViewedRuns& runs = view.runs();
    const std::span known = std::span(labels).first(std::min(labels.size(), static_cast<std::size_t>(runs.rows())));
    const std::int64_t from = ui.state.pins.empty() ? -1 : ui.state.pins.back().token;
    const std::string wanted = ui.fonts.legible(ui.fonts.of_field(ui.at.found));  // written like labels
    const std::int64_t token = wanted.empty() ? -1 : next_with(known, wanted, from);
    if (token < 0) {
        if (!wanted.empty()) view.say("no token has “" + shortened(wanted, max_columns) + "”");
        return;
    }
    ui.state.pins = {{Pin::Kind::query, token}};
    scroll_to(view, token, token);
}

}  // namespace

void draw_find(Ui& ui, const std::vector<std::string>& labels, Viewer& view) {
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
        pin_next(ui, labels, view);
        ui.at.focus_find = true;
    } else if (ImGui::IsItemDeactivated()) {
        ui.at.find = false;
    }
    ImGui::End();
    ImGui::PopStyleVar();
}

}  // namespace vantage::view
