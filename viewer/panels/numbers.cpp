// Statistics of the focused head, and where each lies among all heads.
#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// Place of a value between the smallest and the largest of all heads; 0 if they are equal.
float share_of(const Ui& ui, HeadStatistic statistic, double value) {
    const auto [low, high] = range_of(ui.heads, statistic);
    return high > low ? static_cast<float>((value - low) / (high - low)) : 0;
}

void draw_number(const Ui& ui, const Box& line, HeadStatistic statistic, double value) {
    const bool chosen = statistic == ui.state.statistic;
    if (is_pointed_at(line)) {
        fill(Box{line.x - ui.px(6), line.y, line.wide + ui.px(12), line.high}, ui.palette.raised, ui.px(4));
        if (ImGui::IsMouseClicked(0)) ui.state.statistic = statistic;
    }
    const std::string name = shown_name(statistic, ui.run.live);
    explain_number(ui, line, name);
    const float y = line.y + ui.px(3);
    const std::string number = std::isnan(value) ? "–" : format("{:.3f}", value);
    const Face& face = chosen ? bold(ui) : regular(ui);
    put(regular(ui), line.x, y, chosen ? ui.palette.accent : ui.palette.faint,
        fitted(regular(ui), name, line.wide - width_of(face, number) - ui.px(6)));
    put_right(face, line.right(), y, chosen ? ui.palette.strong : ui.palette.ink, number);
    if (std::isnan(value)) return;
    const Box track{line.x, line.bottom() - ui.px(2), line.wide, ui.px(2)};
    fill(track, faded(ui.palette.line, 0.5f));
    fill({track.x, track.y, std::round(track.wide * share_of(ui, statistic, value)), track.high},
         faded(ui.palette.accent, chosen ? 1.0f : 0.55f));
}

}  // namespace

void draw_numbers(const Ui& ui) {
    const Box& box = ui.layout.numbers;
    const Panel panel("numbers", box);
    if (!panel) return;
    const auto found = std::ranges::find(ui.run.live.heads(), ui.focus.head);
    const auto i = static_cast<std::size_t>(found - ui.run.live.heads().begin());
    const ModelInfo& info = ui.run.live.model().info();
    std::string what = "mean over rows";
    if (info.kv_heads > 0 && info.kv_heads != info.heads)
        what = format("KV head {}", ui.focus.head.head / (info.heads / info.kv_heads));
    if (ui.run.frame->causal && ui.run.frame->rows < 4) what = "counted from row 4 on";
    float y = heading(ui, box, short_name(ui.focus.head), what);
    explain_number(ui, {box.x, box.y, box.wide, y - box.y}, "mean over rows");
    const float high = ui.fonts.regular.size + ui.px(8);
    for (int s = 0; s < head_statistic_count && i < ui.heads.size(); ++s) {
        if (y + high > box.bottom() - ui.px(6)) break;
        // the difference of two runs first
        const auto statistic = static_cast<HeadStatistic>((s + head_statistic_count - 1) % head_statistic_count);
        if (statistic == HeadStatistic::difference && !ui.focus.two) continue;
        draw_number(ui, {box.x + ui.px(12), y, box.wide - ui.px(24), high}, statistic, ui.heads[i][statistic]);
        y += high;
    }
}

}  // namespace vantage::view
