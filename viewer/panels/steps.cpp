// The steps of a model that learns, in place of the prompt: a slider over the kept frames.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"
#include "viewer/data/training_frames.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/viewer.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

std::string loss_text(const TrainingFrames::Snapshot& snapshot) {
    return std::isnan(snapshot.loss) ? "no step yet" : format("loss {:.4f}", snapshot.loss);
}

}  // namespace

void draw_steps(const Ui& ui, TrainingFrames& frames) {
    const Box& box = ui.layout.prompt;
    const Panel panel("steps", box);
    if (!panel) return;
    const std::vector<TrainingFrames::Snapshot> snapshots = frames.snapshots();
    const TrainingFrames::Snapshot& shown = frames.shown();
    const auto here = std::ranges::upper_bound(snapshots, shown.step, {}, &TrainingFrames::Snapshot::step);
    const auto last = static_cast<float>(std::max<std::ptrdiff_t>(std::ssize(snapshots) - 1, 0));
    auto place = static_cast<float>(std::max<std::ptrdiff_t>(here - snapshots.begin() - 1, 0));
    const float middle = std::round(box.y + (box.high - ui.fonts.regular.size) / 2), margin = ui.px(12);
    const float left = put(bold(ui), box.x + margin, middle, ui.at.step ? ui.palette.accent : ui.palette.strong,
                           format("Step {}", shown.step));
    // The text may get wider from step to step; the slider must not move for it.
    const float begin = std::max(left, box.x + margin + width_of(bold(ui), "Step 0000000")) + margin;
    float right = box.right() - margin - ui.px(74);
    if (ui.at.step) {
        ImGui::SetCursorScreenPos({right, std::round(box.y + (box.high - ImGui::GetFrameHeight()) / 2)});
        if (ImGui::Button("Newest", {ui.px(74), 0})) ui.at.step.reset();
        note_text("Newest", box_of_item());
    } else {
        put_right(regular(ui), right + ui.px(74), middle, ui.palette.faint, "following");
    }
    right -= margin;
    if (box.wide > ui.px(480)) {
        right -= width_of(small(ui), "loss 00.0000");
        put(small(ui), right, std::round(box.y + (box.high - ui.fonts.small.size) / 2), ui.palette.faint,
            loss_text(shown));
        right -= margin;
    }
    ImGui::SetCursorScreenPos({begin, std::round(box.y + (box.high - ImGui::GetFrameHeight()) / 2)});
    ImGui::SetNextItemWidth(std::max(right - begin, ui.px(40)));
    if (ImGui::SliderFloat("##step", &place, 0, std::max(last, 1.0f), "", ImGuiSliderFlags_NoInput))
        show_step(ui.at, snapshots, std::lround(place));
    note_tooltip(box_of_item());
    if (ImGui::IsItemHovered() && !ImGui::IsItemActive())
        ImGui::SetTooltip("Steps of training: %zu are kept. < and > go to the next one, L follows the newest.",
                          snapshots.size());
}

void show_step(Interaction& at, std::span<const TrainingFrames::Snapshot> snapshots, std::ptrdiff_t place) {
    if (snapshots.empty() || place >= std::ssize(snapshots) - 1)
        at.step.reset();
    else
        at.step = snapshots[static_cast<std::size_t>(std::max<std::ptrdiff_t>(place, 0))].step;
}

}  // namespace vantage::view
