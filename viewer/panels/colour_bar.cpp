// The colour bar: ticks, a histogram of the visible cells, and handles for minimum and maximum.
#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/picture/attention_scale.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// The colours. Upright they begin with the minimum at the bottom; the histogram is at their left, the ticks at their
/// right. Lying they begin at the left; the histogram is above, the ticks are below.
struct Bar {
    Box box;
    bool lies;
    float step() const { return lies ? 1 : -1; }  ///< a pixel towards the maximum
    float length() const { return lies ? box.wide : box.high; }
    float thickness() const { return lies ? box.high : box.wide; }
    float edge() const { return lies ? box.y : box.x; }  ///< at the histogram
    /// Pixel of a place from 0 to 1, and the place of a pixel.
    float pixel(float place) const { return lies ? box.x + place * box.wide : box.bottom() - place * box.high; }
    double place(const ImVec2& at) const {
        return static_cast<double>(lies ? (at.x - box.x) / box.wide : (box.bottom() - at.y) / box.high);
    }
    /// Between two pixels along the bar, the lower place first; across it from `across` on.
    Box piece(float first, float last, float across, float thick) const {
        return lies ? Box{first, across, last - first, thick} : Box{across, last, thick, first - last};
    }
};

/// The handle of an end. The bar keeps its range during a drag, so that the handle follows the mouse.
void drag_end(const Ui& ui, const Bar& bar, BarEnd end) {
    const ImGuiIO& io = ImGui::GetIO();
    const bool bright = end == BarEnd::bright, dragged = ui.at.bar && ui.at.dragged_end == end;
    const ValueRange axis = ui.at.bar.value_or(ui.state.range);
    const double value = bright ? ui.state.range.max : ui.state.range.min;
    const float place = dragged ? position_of(value, axis, ui.state.scale) : bright ? 1.0f : 0.0f;
    const float at = std::round(bar.pixel(place)), half = bar.step() * ui.px(3);
    const auto around = [&](float by) {
        return bar.piece(at - by, at + by, bar.edge() - ui.px(4), bar.thickness() + ui.px(8));
    };
    const Box grip = around(half), button = around(2 * half);
    ImGui::SetCursorScreenPos({button.x, button.y});
    ImGui::InvisibleButton(bright ? "maximum" : "minimum", {button.wide, button.high});
    if (ImGui::IsItemActivated()) ui.at.bar = ui.state.range, ui.at.dragged_end = end;
    if (ImGui::IsItemActive() && ui.at.bar && mouse_moved())
        ui.state.range = with_end(*ui.at.bar, end, bar.place(io.MousePos), ui.state.scale);
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
void wheel(const Ui& ui, const Bar& bar) {
    const ImGuiIO& io = ImGui::GetIO();
    if (io.MouseWheel == 0 || !is_pointed_at(bar.box)) return;
    constexpr double step = 0.08;  // of the bar
    ui.state.range =
        with_end(ui.state.range, BarEnd::bright, 1 - step * static_cast<double>(io.MouseWheel), ui.state.scale);
}

/// Counts from the edge of the bar on. They have logarithmic lengths, so that one cell is visible next to a hundred
/// thousand.
void draw_histogram(const Ui& ui, const Bar& bar) {
    if (!ui.run.frame->counts) return;
    const ValueCounts& counts = *ui.run.frame->counts;
    const float room = ui.px(bar_histogram - 3), edge = bar.edge() - ui.px(3);
    const std::uint32_t maximum = std::max({counts.below, counts.above, *std::ranges::max_element(counts.bins), 1u});
    const auto length = [&](std::uint32_t count) {
        const double share = std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(maximum));
        return count > 0 ? std::max(1.0f, std::round(room * static_cast<float>(share))) : 0.0f;
    };
    const auto bins = static_cast<float>(counts.bins.size());
    for (std::size_t i = 0; i < counts.bins.size(); ++i) {
        const float first = std::round(bar.pixel(static_cast<float>(i) / bins)),
                    end = std::round(bar.pixel(static_cast<float>(i + 1) / bins)),
                    last = std::abs(end - first) < 1 ? first + bar.step() : end, wide = length(counts.bins[i]);
        const bool pointed = is_pointed_at(bar.piece(first, end, edge - room, room));
        fill(bar.piece(first, last, edge - wide, wide), pointed ? ui.palette.accent : faded(ui.palette.faint, 0.75f));
        if (!pointed) continue;
        const auto value = [&](std::size_t at) {
            const double position = static_cast<double>(at) / static_cast<double>(counts.bins.size());
            return static_cast<double>(value_at(position, counts.range, counts.scale));
        };
        ImGui::SetTooltip("%.4g to %.4g: %u cells\nbelow the range %u, above it %u", value(i), value(i + 1),
                          counts.bins[i], counts.below, counts.above);
    }
    // Values outside the range are shown at the ends.
    const float high = bar.step() * ui.px(3), gap = bar.step() * ui.px(2);
    const auto beyond = [&](float from, std::uint32_t count) {
        fill(bar.piece(from, from + high, edge - length(count), length(count)), ui.palette.accent);
    };
    beyond(bar.pixel(0) - gap - high, counts.below);
    beyond(bar.pixel(1) + gap, counts.above);
}

/// During a drag the colours span the new range on the old bar.
void draw_colours(const Ui& ui, const Bar& bar, const ValueRange& axis) {
    const ColourTable& colours = colours_of(ui.state.colours, ui.palette.dark);
    const auto steps = static_cast<int>(bar.length());
    for (int i = 0; i < steps; ++i) {
        const float share = (static_cast<float>(i) + 0.5f) / static_cast<float>(steps);
        const float value = value_at(static_cast<double>(share), axis, ui.state.scale);
        const float place = ui.at.bar ? ui.position(value) : share;
        const float at = bar.pixel(0) + bar.step() * static_cast<float>(i);
        fill(bar.piece(at, at + bar.step(), bar.edge(), bar.thickness()),
             packed(vantage::at(colours, std::lround(place * 255))));
    }
}

/// The ends and what has room between them.
void draw_ticks(const Ui& ui, const Bar& bar, const ValueRange& axis) {
    const Face face = small(ui);
    float last = bar.pixel(0);
    for (const ScaleTick& tick : bar_ticks(axis, ui.state.scale, ui.state.modifiers)) {
        const float at = bar.pixel(tick.position), room = bar.lies ? width_of(face, tick.text) + ui.px(6) : face.size;
        const bool end = tick.position <= 0 || tick.position >= 1;
        if (!end && std::min(std::abs(at - last), std::abs(bar.pixel(1) - at)) < room) continue;
        last = at;
        const float line = std::round(at), inside = tick.position >= 1 ? line - bar.step() : line;
        fill(bar.piece(inside, inside + bar.step(), bar.edge() + bar.thickness(), ui.px(4)), ui.palette.faint);
        if (bar.lies)
            put_middle(face, at, bar.box.bottom() + ui.px(6), ui.palette.ink, tick.text);
        else
            put(face, bar.box.right() + ui.px(8), at - face.size * 0.6f, ui.palette.ink, tick.text);
    }
}

/// Upright with its unit above, lying with its unit at the left.
Bar bar_in(const Ui& ui, const FocusPlaces& places, bool histogram, float unit) {
    const Box& box = places.bar;
    const float beside = histogram ? ui.px(bar_histogram) : 0, thick = ui.px(14);
    if (!places.bar_lies) return {{box.x + beside, box.y, thick, box.high}, false};
    const float left = std::round(unit) + ui.px(18), right = ui.px(10);  // half of a text
    return {{box.x + left, box.y + beside, box.wide - left - right, thick}, true};
}

}  // namespace

void draw_colour_bar(const Ui& ui, const FocusPlaces& places) {
    const Box& box = places.bar;
    const float length = places.bar_lies ? box.wide : box.high;
    if (length < ui.px(40)) return;
    const std::string unit = unit_of(ui.state.modifiers);
    const bool histogram = places.bar_lies || box.wide > ui.px(2 * bar_histogram);
    const Bar bar = bar_in(ui, places, histogram, width_of(small(ui), unit));
    const float line = ui.fonts.small.size, title = bar.lies ? bar.box.y + ui.px(1) : box.y - 2.2f * line;
    put(small(ui), box.x, title, ui.palette.faint, unit);
    explain_number(ui, {box.x, title, bar.lies ? bar.box.x - ui.px(10) - box.x : box.wide, line}, unit);
    const float beside = (bar.lies ? bar.box.bottom() : bar.box.right()) + ui.px(5);
    explain_number(ui,
                   bar.lies ? Box{box.x, beside, box.wide, ui.px(4) + line}
                            : Box{beside, box.y - line, box.right() - beside, box.high + 2 * line},
                   unit);
    wheel(ui, bar);
    const ValueRange axis = ui.at.bar.value_or(ui.state.range);
    if (histogram) draw_histogram(ui, bar);
    draw_colours(ui, bar, axis);
    draw_ticks(ui, bar, axis);
    drag_end(ui, bar, BarEnd::dark);
    drag_end(ui, bar, BarEnd::bright);
}

}  // namespace vantage::view
