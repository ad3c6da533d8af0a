// The colour bar: ticks, a histogram of the visible cells, and handles for minimum and maximum.
#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/picture/attention_scale.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// Place of a pixel on the bar: 0 at the bottom, the minimum.
double place_on(const Box& bar, float y) { return static_cast<double>((bar.bottom() - y) / bar.high); }

/// The handle of an end. The bar keeps its range during a drag, so that the handle follows the mouse.
void drag_end(const Ui& ui, const Box& bar, BarEnd end) {
    const ImGuiIO& io = ImGui::GetIO();
    const bool bright = end == BarEnd::bright, dragged = ui.at.bar && ui.at.dragged_end == end;
    const ValueRange axis = ui.at.bar.value_or(ui.state.range);
    const double value = bright ? ui.state.range.max : ui.state.range.min;
    const float place = dragged ? position_of(value, axis, ui.state.scale) : bright ? 1.0f : 0.0f;
    const float y = std::round(bar.bottom() - place * bar.high);
    const Box grip{bar.x - ui.px(4), y - ui.px(3), bar.wide + ui.px(8), ui.px(6)};
    ImGui::SetCursorScreenPos({grip.x, grip.y - ui.px(3)});
    ImGui::InvisibleButton(bright ? "maximum" : "minimum", {grip.wide, grip.high + ui.px(6)});
    if (ImGui::IsItemActivated()) ui.at.bar = ui.state.range, ui.at.dragged_end = end;
    if (ImGui::IsItemActive() && ui.at.bar && io.MouseDelta.y != 0)
        ui.state.range = with_end(*ui.at.bar, end, place_on(bar, io.MousePos.y), ui.state.scale);
    if (ImGui::IsItemDeactivated()) ui.at.bar.reset();
    const bool hot = ImGui::IsItemHovered() || ImGui::IsItemActive();
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(0)) {
        ui.state.range = with_default_end(ui.state.range, end, ui.default_ends);
        ui.at.bar.reset();
    }
    fill(grip, hot ? ui.palette.accent : ui.palette.strong, ui.px(3));
    outline(grip, ui.palette.panel, 1, ui.px(3));
    if (hot) ImGui::SetTooltip("%s: %.4g\nDouble-click: reset", bright ? "maximum" : "minimum", value);
}

/// The wheel over the bar moves the maximum.
void wheel(const Ui& ui, const Box& bar) {
    const ImGuiIO& io = ImGui::GetIO();
    if (io.MouseWheel == 0 || !is_pointed_at(bar)) return;
    constexpr double step = 0.08;  // of the bar
    ui.state.range =
        with_end(ui.state.range, BarEnd::bright, 1 - step * static_cast<double>(io.MouseWheel), ui.state.scale);
}

/// Bars have logarithmic lengths, so that one cell is visible next to a hundred thousand.
void draw_histogram(const Ui& ui, const Box& box) {
    if (!ui.run.frame->counts) return;
    const ValueCounts& counts = *ui.run.frame->counts;
    const std::uint32_t maximum = std::max({counts.below, counts.above, *std::ranges::max_element(counts.bins), 1u});
    const auto length = [&](std::uint32_t count) {
        const double share = std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(maximum));
        return count > 0 ? std::max(1.0f, std::round(box.wide * static_cast<float>(share))) : 0.0f;
    };
    const auto bins = static_cast<float>(counts.bins.size());
    for (std::size_t i = 0; i < counts.bins.size(); ++i) {
        const float top = std::round(box.bottom() - box.high * static_cast<float>(i + 1) / bins),
                    bottom = std::round(box.bottom() - box.high * static_cast<float>(i) / bins);
        const bool pointed = is_pointed_at({box.x, top, box.wide, bottom - top});
        const float wide = length(counts.bins[i]);
        fill({box.right() - wide, top, wide, std::max(1.0f, bottom - top)},
             pointed ? ui.palette.accent : faded(ui.palette.faint, 0.75f));
        if (!pointed) continue;
        const auto value = [&](std::size_t at) {
            const double position = static_cast<double>(at) / static_cast<double>(counts.bins.size());
            return static_cast<double>(value_at(position, counts.range, counts.scale));
        };
        ImGui::SetTooltip("%.4g to %.4g: %u cells\nbelow the range %u, above it %u", value(i), value(i + 1),
                          counts.bins[i], counts.below, counts.above);
    }
    // Values outside the range are shown at the ends.
    const float high = ui.px(3), gap = ui.px(2);
    fill({box.right() - length(counts.below), box.bottom() + gap, length(counts.below), high}, ui.palette.accent);
    fill({box.right() - length(counts.above), box.y - gap - high, length(counts.above), high}, ui.palette.accent);
}

/// During a drag the colours span the new range on the old bar.
void draw_colours(const Ui& ui, const Box& bar, const ValueRange& axis) {
    const ColourTable& colours = colours_of(ui.state.colours, ui.palette.dark);
    const auto steps = static_cast<int>(bar.high);
    for (int i = 0; i < steps; ++i) {
        const float share = 1 - (static_cast<float>(i) + 0.5f) / static_cast<float>(steps);
        const float value = value_at(static_cast<double>(share), axis, ui.state.scale);
        const float place = ui.at.bar ? ui.position(value) : share;
        fill({bar.x, bar.y + static_cast<float>(i), bar.wide, 1}, packed(at(colours, std::lround(place * 255))));
    }
}

}  // namespace

void draw_colour_bar(const Ui& ui, const Box& box) {
    if (box.high < ui.px(40)) return;
    const bool histogram = box.wide > ui.px(2 * bar_histogram);
    const float counts = histogram ? ui.px(bar_histogram - 3) : 0;
    const Box bar{box.x + (histogram ? ui.px(bar_histogram) : 0), box.y, ui.px(14), box.high};
    put(small(ui), box.x, bar.y - 2.2f * ui.fonts.small.size, ui.palette.faint, unit_of(ui.state.modifiers));
    wheel(ui, bar);
    const ValueRange axis = ui.at.bar.value_or(ui.state.range);
    if (histogram) draw_histogram(ui, {box.x, box.y, counts, box.high});
    draw_colours(ui, bar, axis);
    for (const ScaleTick& tick : bar_ticks(axis, ui.state.scale, ui.state.modifiers)) {
        const float y = bar.bottom() - tick.position * bar.high;
        const bool end = tick.position <= 0 || tick.position >= 1;
        if (!end && std::min(y - bar.y, bar.bottom() - y) < ui.fonts.small.size)
            continue;  // would overlap the tick of an end
        fill({bar.right(), std::round(y) - (tick.position >= 1 ? 0.0f : 1.0f), ui.px(4), 1}, ui.palette.faint);
        put(small(ui), bar.right() + ui.px(8), y - ui.fonts.small.size * 0.6f, ui.palette.ink, tick.text);
    }
    drag_end(ui, bar, BarEnd::dark);
    drag_end(ui, bar, BarEnd::bright);
}

}  // namespace vantage::view
