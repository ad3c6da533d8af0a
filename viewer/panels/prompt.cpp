// The prompt, the sampling parameters, and Run or Stop.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/viewer.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// Remembers the box of the last item, if its area is active.
void note_area(const Ui& ui, Area area) {
    if (ui.at.area != area) return;
    const ImVec2 from = ImGui::GetItemRectMin(), to = ImGui::GetItemRectMax();
    ui.at.area_box = {from.x, from.y, to.x - from.x, to.y - from.y};
}

/// Format of a number; the typed text while it is typed.
std::string shape_of(const Ui& ui, Area area, const char* default_shape) {
    return ui.at.area == area && !ui.at.typed.empty() ? ui.at.typed + "▏" : default_shape;
}

/// The name of a number; the field follows.
void name_field(const Ui& ui, const char* name, float wide) {
    ImGui::SameLine(0, ui.px(12));
    ImGui::AlignTextToFramePadding();
    ImGui::TextDisabled("%s", name);
    ImGui::SameLine(0, ui.px(5));
    ImGui::SetNextItemWidth(ui.px(wide));
}

void number_field(const Ui& ui, Area area, const char* name, const char* id, double& value, float step, float maximum,
                  const char* shape) {
    name_field(ui, name, 54);
    auto edited = static_cast<float>(value);
    if (ImGui::DragFloat(id, &edited, step, 0, maximum, shape_of(ui, area, shape).c_str()))
        value = std::round(1000 * static_cast<double>(std::clamp(edited, 0.0f, maximum))) / 1000;  // as it is displayed
    note_area(ui, area);
}

void whole_field(const Ui& ui, Area area, const char* name, const char* id, std::int64_t& value, int maximum,
                 float wide) {
    name_field(ui, name, wide);
    auto edited = static_cast<int>(std::min<std::int64_t>(value, maximum));
    if (ImGui::DragInt(id, &edited, 0.3f, 0, maximum, shape_of(ui, area, "%d").c_str()))
        value = std::clamp(edited, 0, maximum);
    note_area(ui, area);
}

}  // namespace

void draw_prompt(const Ui& ui, Viewer& view) {
    const Box& box = ui.layout.prompt;
    const Panel panel("prompt", box);
    if (!panel) return;
    if (!ui.run.live.commanded()) {
        ImGui::SetCursorScreenPos({box.x + ui.px(12), std::round(box.y + (box.high - ui.fonts.regular.size) / 2)});
        ImGui::TextDisabled("A program runs this model.");
        return;
    }
    ImGui::SetCursorScreenPos({box.x + ui.px(12), std::round(box.y + (box.high - ImGui::GetFrameHeight()) / 2)});
    const ModelConfig& config = config_of(ui.run.live.model());
    const bool writes = config.kind != ModelKind::encoder, wide_enough = writes && box.wide > ui.px(720);
    const float others = wide_enough ? ui.px(544) : ui.px(96);
    ImGui::SetNextItemWidth(std::max(ui.px(120), box.wide - others));
    if (ui.at.focus_prompt) ImGui::SetKeyboardFocusHere();
    ui.at.focus_prompt = false;
    const bool entered = ImGui::InputTextWithHint("##prompt",
                                                  config.is_vision() ? "Image file: PNG, JPEG or safetensors"
                                                  : writes           ? "Prompt for the model to continue"
                                                                     : "Text for the model to read",
                                                  &ui.at.prompt, ImGuiInputTextFlags_EnterReturnsTrue);
    note_area(ui, Area::prompt);
    ui.at.sampling_shown = wide_enough;
    if (wide_enough) {
        number_field(ui, Area::temperature, "temp", "##temperature", ui.at.sampling.temperature, 0.01f, 5, "%.2f");
        number_field(ui, Area::top_p, "top-p", "##top-p", ui.at.sampling.top_p, 0.005f, 1, "%.2f");
        const auto before = static_cast<std::int64_t>(ui.at.sampling.seed);
        std::int64_t seed = before;
        whole_field(ui, Area::seed, "seed", "##seed", seed, max_seed, 54);
        if (seed != before)
            ui.at.sampling.seed = static_cast<std::uint64_t>(seed);  // keeps one beyond the field's range
        whole_field(ui, Area::length, "tokens", "##tokens", ui.at.max_tokens, max_length, 48);
    }
    ImGui::SameLine(0, ui.px(12));
    const Activity activity = ui.run.frame->version.activity;
    const bool busy = activity == Activity::reading || activity == Activity::writing;
    const ImVec2 size{box.right() - ui.px(12) - ImGui::GetCursorScreenPos().x, 0};
    const bool pressed = ImGui::Button(busy ? "Stop" : "Run", size);
    note_area(ui, Area::run);
    if (pressed)
        view.run_or_stop();
    else if (entered && !busy)
        view.run_prompt();
}

}  // namespace vantage::view
