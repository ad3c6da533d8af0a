// The prompt, the sampling parameters, and Run or Stop.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/viewer.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// Remembers the box of the last item, if its area is active.
void note_area(const Ui& ui, Area area) {
    if (ui.at.area == area) ui.at.area_box = box_of_item();
}

/// Format of a number; the typed text while it is typed.
std::string shape_of(const Ui& ui, Area area, const char* default_shape) {
    return ui.at.area == area && !ui.at.typed.empty() ? ui.at.typed + "▏" : default_shape;
}

/// The name of a number; the field follows.
void name_field(const Ui& ui, Area area, float wide) {
    ImGui::SameLine(0, ui.px(12));
    ImGui::AlignTextToFramePadding();
    ImGui::TextDisabled("%s", number_field_of(area).name);
    ImGui::SameLine(0, ui.px(5));
    ImGui::SetNextItemWidth(ui.px(wide));
}

/// A click gives a field the keys: digits then replace its number (type_digit). A drag changes it.
void take_keys(const Ui& ui, Area area, const std::string& number) {
    if (ImGui::IsItemClicked() && ui.at.area != area) ui.at.area = area, ui.at.typed.clear();
    note_area(ui, area);
    note_text(std::string(number_field_of(area).name) + " " + number, box_of_item());
    note_tooltip(box_of_item());
    if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", number_field_of(area).hint().c_str());
}

constexpr ImGuiSliderFlags no_text_field = ImGuiSliderFlags_NoInput;

void number_field(const Ui& ui, Area area, const char* id, double& value, float step) {
    name_field(ui, area, 54);
    auto edited = static_cast<float>(value);
    const auto maximum = static_cast<float>(number_field_of(area).maximum);
    if (ImGui::DragFloat(id, &edited, step, 0, maximum, shape_of(ui, area, "%.2f").c_str(), no_text_field))
        value = std::round(1000 * static_cast<double>(std::clamp(edited, 0.0f, maximum))) / 1000;  // as it is displayed
    take_keys(ui, area, format("{:.2f}", edited));
}

void whole_field(const Ui& ui, Area area, const char* id, std::int64_t& value, float wide) {
    name_field(ui, area, wide);
    const auto maximum = static_cast<int>(number_field_of(area).maximum);
    auto edited = static_cast<int>(std::min<std::int64_t>(value, maximum));
    if (ImGui::DragInt(id, &edited, 0.3f, 0, maximum, shape_of(ui, area, "%d").c_str(), no_text_field))
        value = std::clamp(edited, 0, maximum);
    take_keys(ui, area, std::to_string(edited));
}

void draw_sampling(const Ui& ui) {
    number_field(ui, Area::temperature, "##temperature", ui.at.sampling.temperature, 0.01f);
    number_field(ui, Area::top_p, "##top-p", ui.at.sampling.top_p, 0.005f);
    const auto before = static_cast<std::int64_t>(ui.at.sampling.seed);
    std::int64_t seed = before;
    whole_field(ui, Area::seed, "##seed", seed, 54);
    if (seed != before) ui.at.sampling.seed = static_cast<std::uint64_t>(seed);  // keeps one beyond the field's range
    whole_field(ui, Area::length, "##tokens", ui.at.max_tokens, 48);
}

void draw_speed(const Ui& ui, Viewer& view) {
    const auto before = static_cast<std::int64_t>(std::ceil(ui.run.live.speed()));
    std::int64_t speed = before;
    whole_field(ui, Area::speed, "##speed", speed, 44);
    if (speed != before) view.set_speed(static_cast<double>(speed));
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
    const bool writes = config.kind != ModelKind::encoder, wide_enough = writes && box.wide > ui.px(720),
               wider = wide_enough && box.wide > ui.px(860);
    const float others = ui.px(wider ? 654 : wide_enough ? 544 : 96);
    ImGui::SetNextItemWidth(std::max(ui.px(120), box.wide - others));
    if (ui.at.focus_prompt) ImGui::SetKeyboardFocusHere();
    ui.at.focus_prompt = false;
    const bool entered = ImGui::InputTextWithHint("##prompt",
                                                  config.sees() ? "Image file: PNG, JPEG or safetensors"
                                                  : !ui.run.live.model().has_tokenizer() ? "Token ids: 1, 2, 3"
                                                  : writes ? "Prompt for the model to continue"
                                                           : "Text for the model to read",
                                                  &ui.at.prompt, ImGuiInputTextFlags_EnterReturnsTrue);
    note_area(ui, Area::prompt);
    ui.at.numbers_shown = wider ? 5 : wide_enough ? 4 : 0;
    if (wide_enough) draw_sampling(ui);
    if (wider) draw_speed(ui, view);
    ImGui::SameLine(0, ui.px(12));
    const Version& version = ui.run.version;
    const bool busy = version.activity == Activity::reading || version.activity == Activity::writing;
    const ImVec2 size{box.right() - ui.px(12) - ImGui::GetCursorScreenPos().x, 0};
    const bool pressed = ImGui::Button(version.stopping ? "Stopping …" : busy ? "Stop" : "Run", size);
    note_area(ui, Area::run);
    if (pressed)
        view.run_or_stop();
    else if (entered && !busy)
        view.run_prompt();
}

}  // namespace vantage::view
