// The timeline: a tick for each token. Dragging goes back in time.
#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"
#include "viewer/panels/moves.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

void scrub(const Ui& ui, const Box& track, std::int64_t all) {
    ImGui::SetCursorScreenPos({track.x, track.y - ui.px(8)});
    ImGui::InvisibleButton("time", {track.wide, track.high + ui.px(16)});
    if (!ImGui::IsItemActive() || all == 0) return;
    const float share = (ImGui::GetIO().MousePos.x - track.x) / track.wide;
    show_rows(ui.state, static_cast<std::int64_t>(std::ceil(share * static_cast<float>(all))), all);
}

void draw_ticks(const Ui& ui, const Box& track, std::int64_t all, std::int64_t shown) {
    const std::int64_t prompt = ui.focus.row_slots.slot_of(ui.run.frame->version.given_of(ui.focus.head.kind));
    const float step = track.wide / static_cast<float>(std::max<std::int64_t>(all, 1));
    const auto every = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(ui.px(3) / step)));
    for (std::int64_t i = 0; i < all; i += every) {
        const bool written = i >= prompt;
        const ImU32 colour = i >= shown ? ui.palette.line : written ? ui.palette.accent : ui.palette.faint;
        const float high = written ? track.high : track.high * 0.55f, x = track.x + static_cast<float>(i) * step;
        const float wide = std::max(1.0f, std::min(ui.px(3), std::floor(step * static_cast<float>(every)) - 1));
        fill({std::round(x), track.bottom() - high, wide, high}, colour, wide > 2 ? 1.0f : 0.0f);
    }
    const float at = track.x + static_cast<float>(shown) * step;
    fill({std::round(at) - ui.px(1), track.y - ui.px(4), ui.px(2), track.high + ui.px(8)}, ui.palette.strong);
}

}  // namespace

void draw_timeline(const Ui& ui) {
    const Box& box = ui.layout.timeline;
    const Panel panel("timeline", box);
    if (!panel) return;
    const std::int64_t all = ui.focus.all_rows;
    const std::int64_t shown = ui.state.rows ? std::min(*ui.state.rows, all) : all;
    const std::int64_t given = ui.run.frame->version.given_of(ui.focus.head.kind);
    const std::string what =
        all < given ? format("{} of {} prompt tokens read", all, given)
                    : format("{}token {} of {} · {} prompt tokens", ui.state.rows ? "viewing " : "", shown, all, given);
    const float left = box.x + ui.px(12), right = box.right() - ui.px(12);
    const ImU32 colour = ui.state.rows ? ui.palette.accent : ui.palette.strong;
    Box track{left, box.y + ui.px(36), box.wide - ui.px(24), ui.px(16)};
    const auto count = [&](const std::string& text, float y) {
        const float from = put_right(small(ui), right, y, ui.palette.faint, text);
        explain_number(ui, {from, y, right - from, ui.fonts.small.size}, "Time");
        return from;
    };
    if (box.high < ui.px(50)) {  // one line
        track.x = put(bold(ui), left, box.y + (box.high - ui.fonts.regular.size) / 2, colour, "Time") + ui.px(14);
        const float end = count(format("{} of {}", shown, all), box.y + (box.high - ui.fonts.small.size) / 2);
        track.wide = end - ui.px(14) - track.x;
        track.y = box.y + ui.px(7);
    } else {
        put(bold(ui), left, box.y + ui.px(9), colour, "Time");
        count(what, box.y + ui.px(11));
    }
    scrub(ui, track, all);
    draw_ticks(ui, track, all, shown);
}

}  // namespace vantage::view
