// The training steps of a model, in place of the prompt: a slider over the snapshots.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"
#include "viewer/data/training_snapshots.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// Where something of this height begins, to be in the middle of the panel.
float middle(const Box& panel, float high) { return std::round(panel.y + (panel.high - high) / 2); }

/// "Newest", or that it is followed. Returns its left end.
float draw_follow(const Ui& ui, const Box& panel) {
    const float wide = ui.px(74), left = panel.right() - ui.px(12) - wide;
    if (!ui.at.step) {
        put_right(regular(ui), left + wide, middle(panel, ui.fonts.regular.size), ui.palette.faint, "following");
        return left;
    }
    ImGui::SetCursorScreenPos({left, middle(panel, ImGui::GetFrameHeight())});
    if (ImGui::Button("Newest", {wide, 0})) ui.at.step.reset();
    note_text("Newest", box_of_item());
    return left;
}

void draw_slider(const Ui& ui, const std::vector<TrainingSnapshot>& all, std::int64_t shown) {
    const auto here = std::ranges::upper_bound(all, shown, {}, &TrainingSnapshot::step);
    auto index = static_cast<float>(std::max<std::ptrdiff_t>(here - all.begin() - 1, 0));
    const auto last = static_cast<float>(std::max<std::ptrdiff_t>(std::ssize(all) - 1, 1));
    if (ImGui::SliderFloat("##step", &index, 0, last, "", ImGuiSliderFlags_NoInput))
        show_step(ui.at, all, std::lround(index));
    note_tooltip(box_of_item());
    if (ImGui::IsItemHovered() && !ImGui::IsItemActive())
        ImGui::SetTooltip("%zu snapshots. < and > select the previous and the next one, L follows the newest.",
                          all.size());
}

}  // namespace

void draw_steps(const Ui& ui, const TrainingSnapshots& snapshots) {
    const Box& box = ui.layout.prompt;
    const Panel panel("steps", box);
    if (!panel) return;
    const TrainingSnapshot shown = snapshots.shown();
    const float margin = ui.px(12);
    const float end = put(bold(ui), box.x + margin, middle(box, ui.fonts.regular.size),
                          ui.at.step ? ui.palette.accent : ui.palette.strong, format("Step {}", shown.step));
    // The number gets wider from step to step; the slider must not move for it.
    const float left = std::max(end, box.x + margin + width_of(bold(ui), "Step 0000000")) + margin;
    float right = draw_follow(ui, box) - margin;
    if (box.wide > ui.px(480)) {
        right -= width_of(small(ui), "loss 00.0000");
        put(small(ui), right, middle(box, ui.fonts.small.size), ui.palette.faint,
            std::isnan(shown.loss) ? "before step 1" : format("loss {:.4f}", shown.loss));
        right -= margin;
    }
    ImGui::SetCursorScreenPos({left, middle(box, ImGui::GetFrameHeight())});
    ImGui::SetNextItemWidth(std::max(right - left, ui.px(40)));
    draw_slider(ui, snapshots.all(), shown.step);
}

void show_step(Interaction& at, std::span<const TrainingSnapshot> all, std::ptrdiff_t index) {
    if (all.empty() || index >= std::ssize(all) - 1)
        at.step.reset();
    else
        at.step = all[static_cast<std::size_t>(std::max<std::ptrdiff_t>(index, 0))].step;
}

}  // namespace vantage::view
