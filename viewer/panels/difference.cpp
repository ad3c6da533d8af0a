// Maps of two runs: hatched gaps where a token has no partner, and the colour bar of differences.
#include <algorithm>
#include <cmath>

#include "runtime/picture/attention_scale.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

constexpr double min_difference_end = 1e-4;

/// Slots [first, last).
struct SlotRange {
    std::int64_t first, last;
};

/// Visible cells of `size` slots without a value: a run has no token in the cell, or for the difference a slot is not a
/// pair.
std::vector<SlotRange> gaps_of(const Ui& ui, ShownRuns shown, const Alignment& slots, std::int64_t size, double first,
                               double last) {
    std::vector<SlotRange> gaps;
    const auto begin = static_cast<std::int64_t>(std::max(first, 0.0)) / size * size;
    const std::int64_t end = std::min(static_cast<std::int64_t>(std::ceil(last)), slots.count());
    for (std::int64_t cell = begin; cell < end; cell += size) {
        const std::int64_t cell_end = std::min(cell + size, slots.count());
        std::int64_t there = 0;
        for (std::int64_t slot = cell; slot < cell_end; ++slot) there += ui.focus.two->has(shown, slots, slot) ? 1 : 0;
        if (shown == ShownRuns::difference ? there == cell_end - cell : there > 0) continue;
        if (!gaps.empty() && gaps.back().last == cell)
            gaps.back().last = cell_end;
        else
            gaps.push_back({cell, cell_end});
    }
    return gaps;
}

void draw_hatched(const Ui& ui, const Box& box) {
    if (box.wide <= 0 || box.high <= 0) return;
    fill(box, ui.palette.panel);
    ImDrawList& list = window_list();
    list.PushClipRect({box.x, box.y}, {box.right(), box.bottom()}, true);
    // one grid for the whole picture, so that neighbouring boxes match
    const float step = ui.px(7), first = std::floor((box.x + box.y) / step) * step;
    for (float sum = first; sum < box.right() + box.bottom(); sum += step)
        list.AddLine({sum - box.y, box.y}, {sum - box.bottom(), box.bottom()}, faded(ui.palette.faint, 0.45f), 1);
    list.PopClipRect();
}

void drag_ends(const Ui& ui, const Box& bar) {
    ImGui::SetCursorScreenPos({bar.x - ui.px(4), bar.y - ui.px(6)});
    ImGui::InvisibleButton("ends", {bar.wide + ui.px(8), bar.high + ui.px(12)});
    const ImGuiIO& io = ImGui::GetIO();
    double& max_value = ui.state.difference_max;
    if (ImGui::IsItemHovered() || ImGui::IsItemActive())
        ImGui::SetTooltip("range: ±%.4g\nDouble-click: reset", std::max(max_value, min_difference_end));
    if (ImGui::IsItemHovered() && io.MouseWheel != 0) max_value *= std::pow(0.85, static_cast<double>(io.MouseWheel));
    if (ImGui::IsItemActive() && io.MouseDelta.y != 0)
        max_value *= std::pow(100.0, -static_cast<double>(io.MouseDelta.y / bar.high));
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(0))
        max_value = 0;  // as far as the differences go
    else
        max_value = std::clamp(max_value, min_difference_end, 1e3);
}

}  // namespace

void draw_gaps(const Ui& ui, const Pane& pane) {
    const TwoRuns& two = *ui.focus.two;
    const Alignment& rows = two.comparison.row_slots(ui.focus.head.kind);
    const Alignment& keys = two.comparison.key_slots(ui.focus.head.kind);
    const FrameData* frame = two.frame(pane.shown == ShownRuns::b);
    if (frame == nullptr || rows.a.plain()) return;
    const MapView& map = pane.map;
    const std::int64_t size = std::int64_t{1} << frame->map.level;
    ImDrawList& list = window_list();
    list.PushClipRect({map.box.x, map.box.y}, {map.box.right(), map.box.bottom()}, true);
    for (const SlotRange& gap : gaps_of(ui, pane.shown, rows, size, map.part.first_row, map.part.last_row)) {
        const float top = map.y_of(gap.first), bottom = map.y_of(gap.last);
        const float right = frame->causal ? map.x_of(gap.last) : map.box.right();
        draw_hatched(ui, {map.box.x, top, std::min(right, map.box.right()) - map.box.x, bottom - top});
    }
    if (ui.state.axis == KeyAxis::absolute)
        for (const SlotRange& gap : gaps_of(ui, pane.shown, keys, size, map.part.first_column, map.part.last_column)) {
            const float left = map.x_of(gap.first), right = map.x_of(gap.last);
            const float top = frame->causal ? map.y_of(gap.first) : map.box.y;
            draw_hatched(ui,
                         {left, std::max(top, map.box.y), right - left, map.box.bottom() - std::max(top, map.box.y)});
        }
    list.PopClipRect();
}

void draw_difference_bar(const Ui& ui, const Box& box) {
    if (box.high < ui.px(40)) return;
    // at the place of the bar of weights
    const Box bar{box.x + (box.wide > ui.px(2 * bar_histogram) ? ui.px(bar_histogram) : 0), box.y, ui.px(14), box.high};
    const float line = ui.fonts.small.size, title = box.y - 2.2f * line, beside = bar.right() + ui.px(5);
    put(small(ui), box.x, title, ui.palette.faint, "B − A");
    explain_number(ui, {box.x, title, box.wide, line}, "B − A");
    explain_number(ui, {beside, box.y - line, box.right() - beside, box.high + 2 * line}, "B − A");
    drag_ends(ui, bar);
    const auto steps = static_cast<int>(bar.high);
    for (int i = 0; i < steps; ++i) {
        const auto share = 1 - 2 * (static_cast<float>(i) + 0.5f) / static_cast<float>(steps);
        fill({bar.x, bar.y + static_cast<float>(i), bar.wide, 1}, packed(difference_colour_at(ui.palette.dark, share)));
    }
    const double max_value = std::max(ui.state.difference_max, min_difference_end);
    const auto tick = [&](float value, const std::string& text) {
        const float y = bar.bottom() - (1 + signed_position(value, max_value, ui.state.scale)) / 2 * bar.high;
        fill({bar.right(), std::round(y), ui.px(4), 1}, ui.palette.faint);
        put(small(ui), bar.right() + ui.px(8), y - ui.fonts.small.size * 0.6f, ui.palette.ink, text);
    };
    for (const ScaleTick& one : scale_ticks(static_cast<float>(max_value), ui.state.scale)) {
        if (one.value <= 0 || one.position <= 0) continue;
        tick(one.value, "+" + one.text);
        tick(-one.value, "−" + one.text);
    }
    tick(0, "0");
}

}  // namespace vantage::view
