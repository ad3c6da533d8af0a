// What the model is asked: the text, how tokens are drawn, run and stop.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "viewer/panels/panels.h"
#include "viewer/panels/viewer.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

void number_field(const Ui& ui, const char* name, const char* id, double& value, float step, float most,
                  const char* shape) {
    ImGui::SameLine(0, ui.px(12));
    ImGui::AlignTextToFramePadding();
    ImGui::TextDisabled("%s", name);
    ImGui::SameLine(0, ui.px(5));
    ImGui::SetNextItemWidth(ui.px(54));
    auto edited = static_cast<float>(value);
    if (ImGui::DragFloat(id, &edited, step, 0, most, shape))
        value = static_cast<double>(std::clamp(edited, 0.0f, most));
}

void whole_field(const Ui& ui, const char* name, const char* id, std::int64_t& value, int most, float wide) {
    ImGui::SameLine(0, ui.px(12));
    ImGui::AlignTextToFramePadding();
    ImGui::TextDisabled("%s", name);
    ImGui::SameLine(0, ui.px(5));
    ImGui::SetNextItemWidth(ui.px(wide));
    auto edited = static_cast<int>(value);
    if (ImGui::DragInt(id, &edited, 0.3f, 0, most)) value = std::clamp(edited, 0, most);
}

bool at_work(const Version& version) {
    return version.activity == Activity::reading || version.activity == Activity::writing;
}

}  // namespace

void draw_prompt(Ui& ui, Viewer& viewer) {
    const Box& box = ui.layout.prompt;
    const Panel panel(ui, "prompt", box);
    if (!panel) return;
    if (!ui.live.commanded()) {
        ImGui::SetCursorScreenPos({box.x + ui.px(12), std::round(box.y + (box.high - ui.fonts.regular_size) / 2)});
        ImGui::TextDisabled("A program runs this model.");
        return;
    }
    ImGui::SetCursorScreenPos({box.x + ui.px(12), std::round(box.y + (box.high - ImGui::GetFrameHeight()) / 2)});
    const bool wide_enough = box.wide > ui.px(820);
    const float others = wide_enough ? ui.px(544) : ui.px(96);
    ImGui::SetNextItemWidth(std::max(ui.px(120), box.wide - others));
    if (ui.at.focus_prompt) ImGui::SetKeyboardFocusHere();
    ui.at.focus_prompt = false;
    const bool entered = ImGui::InputTextWithHint("##prompt", "What should the model go on with?", &ui.at.prompt,
                                                  ImGuiInputTextFlags_EnterReturnsTrue);
    if (wide_enough) {
        number_field(ui, "temp", "##temperature", ui.state.sampling.temperature, 0.01f, 5, "%.2f");
        number_field(ui, "top-p", "##top-p", ui.state.sampling.top_p, 0.005f, 1, "%.2f");
        auto seed = static_cast<std::int64_t>(ui.state.sampling.seed % 1000000);
        whole_field(ui, "seed", "##seed", seed, 999999, 54);
        ui.state.sampling.seed = static_cast<std::uint64_t>(seed);
        whole_field(ui, "tokens", "##tokens", ui.state.max_tokens, 100000, 48);
    }
    ImGui::SameLine(0, ui.px(12));
    const bool busy = at_work(ui.data.version);
    const ImVec2 size{box.right() - ui.px(12) - ImGui::GetCursorScreenPos().x, 0};
    if (busy) {
        if (ImGui::Button("Stop", size)) viewer.stop();
    } else if (ImGui::Button("Run", size) || entered) {
        viewer.run_prompt();
    }
}

}  // namespace vantage::view
