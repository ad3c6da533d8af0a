#include "viewer/panels/layout.h"

#include <cmath>

#include "viewer/panels/map_view.h"

namespace vantage::view {

Layout lay_out(float width, float height, float scale, const HeadGrid& grid, bool image) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    const float gap = px(8), side = width < px(1180) ? px(236) : px(284);
    const bool inspector = width >= px(860), heads = width >= px(600);
    Layout l;
    l.bar = {0, 0, width, px(36)};
    const float top = l.bar.bottom() + gap, prompt_high = px(44), timeline_high = image ? -gap : px(58);
    const bool beside = image && inspector;
    const float tokens_high = beside  ? -gap
                              : image ? std::round(std::clamp(height * 0.3f, px(120), px(240)))
                                      : std::round(std::clamp(height * 0.135f, px(84), px(150)));
    l.prompt = {gap, height - gap - prompt_high, width - 2 * gap, prompt_high};
    l.timeline = {gap, l.prompt.y - gap - timeline_high, width - 2 * gap, timeline_high};
    l.tokens = {gap, l.timeline.y - gap - tokens_high, width - 2 * gap, tokens_high};
    const float high = std::max(px(120), l.tokens.y - gap - top);
    // The grid takes what square cells need, and leaves room for the numbers of the head in focus.
    const float cell = std::min((side - px(50)) / static_cast<float>(grid.columns), px(64));
    const float needed = px(112) + cell * static_cast<float>(grid.rows);
    const bool numbers = high >= px(400);
    const float heads_high = numbers ? std::clamp(needed, px(150), high - px(258)) : high;
    l.heads = {gap, top, heads ? side : 0, heads_high};
    l.numbers = {gap, l.heads.bottom() + gap, heads && numbers ? side : 0, high - heads_high - gap};
    l.inspector = {width - gap - (inspector ? side : 0), top, inspector ? side : 0, high};
    if (image) l.timeline = {};
    if (beside) {
        l.tokens = {l.inspector.x, top, side, std::min(side + px(44), high / 2)};
        l.inspector.y = l.tokens.bottom() + gap;
        l.inspector.high = high - l.tokens.high - gap;
    }
    const float left = heads ? l.heads.right() + gap : gap, right = inspector ? l.inspector.x - gap : width - gap;
    l.focus = {left, top, std::max(px(120), right - left), high};
    return l;
}

float focus_bar_width(float scale) { return std::round(100 * scale) + std::round(14 * scale); }

Box image_place(const Box& panel, int wide, int high, float scale) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    const Box room{panel.x + px(12), panel.y + px(36), panel.wide - px(24), std::max(0.0f, panel.high - px(76))};
    const float side = std::min(room.wide / static_cast<float>(wide), room.high / static_cast<float>(high));
    const float w = std::round(side * static_cast<float>(wide)), h = std::round(side * static_cast<float>(high));
    return {std::round(room.x + (room.wide - w) / 2), std::round(room.y), w, h};
}

FocusPlaces focus_places(const Box& panel, const Rectangle& part, float row_label, float key_label, float scale) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    const float gap = px(6), bar_wide = px(100);
    const float left = std::min(row_label, px(110)) + gap, above = std::min(key_label, px(92)) + gap;
    const Box inside{panel.x + px(12), panel.y + px(40), panel.wide - px(24), panel.high - px(52)};
    const Box room{inside.x + left, inside.y + above, inside.wide - left - bar_wide - px(14), inside.high - above};
    FocusPlaces places;
    places.map = fitted(part, room);
    places.row_labels = {places.map.x - left, places.map.y, left - gap, places.map.high};
    places.key_labels = {places.map.x, places.map.y - above, places.map.wide, above - gap};
    places.bar = {places.map.right() + px(14), places.map.y, bar_wide, std::min(places.map.high, px(420))};
    return places;
}

}  // namespace vantage::view
