#include "viewer/panels/layout.h"

#include <cmath>

#include "viewer/panels/map_view.h"

namespace vantage::view {
namespace {

constexpr float gap = 8, min_map = 180;
constexpr float bar_gap = 14, bar_alone = 63;  // gap before the colour bar; its width with numbers

/// Heights of the panels below the map, at a scale of 1; 0: removed.
struct Heights {
    float prompt = 0, timeline = 0, tokens = 0;
};

float text_height(float lines) { return text_above + text_below + lines * text_line; }

/// Fills the space that the map leaves, most important panels first.
Heights share_out(float height, const LayoutWishes& wishes, bool image_below) {
    float left = height - min_map;
    bool full = false;
    const auto take = [&](float high) {
        full = full || left < high + gap;  // then less important panels are removed, too
        if (full) return 0.0f;
        left -= high + gap;
        return high;
    };
    const float few = wishes.two_texts ? 3 : 1, max_lines = few + 3;  // lines
    Heights h;
    if (wishes.prompt) h.prompt = std::max(take(44), 44.0f);
    if (wishes.image) {
        if (image_below) h.tokens = take(120);
    } else {
        h.tokens = take(text_height(few));
        h.timeline = take(58);
    }
    if (!wishes.prompt) h.prompt = take(44);
    if (wishes.image && h.tokens > 0) h.tokens += std::clamp(height * 0.42f - 120, 0.0f, std::max(0.0f, left));
    if (wishes.image || h.tokens <= 0) return h;
    for (float lines = few + 1; lines <= max_lines && left >= text_line; ++lines) {
        if (lines > few + 1 && text_height(lines) > height * 0.16f) break;
        left -= text_line;
        h.tokens = text_height(lines);
    }
    return h;
}

/// Heads and statistics at the left, the inspector at the right, the map in between.
void lay_columns(Layout& l, float scale, const LayoutWishes& wishes, const Box& room) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    const float side = room.wide < px(1164) ? px(236) : px(284);
    const bool inspector = room.wide >= px(844), heads = room.wide >= px(584), numbers = room.high >= px(400);
    // The grid takes what square cells need and leaves room for the statistics.
    const float cell = std::min((side - px(50)) / static_cast<float>(wishes.heads.columns), px(64));
    const float needed = px(112) + cell * static_cast<float>(wishes.heads.rows);
    const float heads_high = numbers ? std::clamp(needed, px(150), room.high - px(258)) : room.high;
    l.focus = room;
    if (heads) {
        l.heads = {room.x, room.y, side, heads_high};
        if (numbers) l.numbers = {room.x, l.heads.bottom() + px(gap), side, room.high - heads_high - px(gap)};
        l.focus.x += side + px(gap), l.focus.wide -= side + px(gap);
    }
    if (!inspector) return;
    l.inspector = {room.right() - side, room.y, side, room.high};
    l.focus.wide -= side + px(gap);
    if (!wishes.image) return;
    l.tokens = {l.inspector.x, room.y, side, std::min(side + px(44), room.high / 2)};
    l.inspector.y = l.tokens.bottom() + px(gap);
    l.inspector.high = room.high - l.tokens.high - px(gap);
}

}  // namespace

Layout lay_out(float width, float height, float scale, const LayoutWishes& wishes) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    Layout l;
    l.too_small = width < px(min_width) || height < px(min_height);
    if (l.too_small) return l;
    l.bar = {0, 0, width, px(36)};
    Box room{px(gap), l.bar.bottom() + px(gap), width - 2 * px(gap), height - l.bar.high - 2 * px(gap)};
    const Heights h = share_out(room.high / scale, wishes, room.wide < px(844));
    const auto from_below = [&](Box& panel, float high) {
        if (high <= 0) return;
        panel = {room.x, room.bottom() - px(high), room.wide, px(high)};
        room.high -= px(high) + px(gap);
    };
    from_below(l.prompt, h.prompt);
    from_below(l.timeline, h.timeline);
    from_below(l.tokens, h.tokens);
    lay_columns(l, scale, wishes, room);
    return l;
}

float focus_bar_width(float panel_wide, float scale) {
    const float wide = panel_wide / scale;
    const float bar = wide >= 380 ? bar_alone + bar_histogram : wide >= 220 ? bar_alone : 0;
    return bar > 0 ? std::round(scale * bar) + std::round(scale * bar_gap) : 0;
}

Box image_place(const Box& panel, int wide, int high, float scale) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    const Box room{panel.x + px(12), panel.y + px(36), panel.wide - px(24), std::max(0.0f, panel.high - px(76))};
    const float side = std::min(room.wide / static_cast<float>(wide), room.high / static_cast<float>(high));
    const float w = std::round(side * static_cast<float>(wide)), h = std::round(side * static_cast<float>(high));
    return {std::round(room.x + (room.wide - w) / 2), std::round(room.y), w, h};
}

FocusPlaces focus_places(const Box& panel, const Rectangle& part, float row_label, float key_label, float scale) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    const Box inside{panel.x + px(12), panel.y + px(40), panel.wide - px(24), panel.high - px(52)};
    // In a small panel labels get at most a fifth and are shortened.
    const float gap = px(6), bar = focus_bar_width(panel.wide, scale);
    const float left = std::round(std::min({row_label, px(110), inside.wide / 5})) + gap,
                above = std::round(std::min({key_label, px(92), inside.high / 4})) + gap;
    const Box room{inside.x + left, inside.y + above, inside.wide - left - bar, inside.high - above};
    FocusPlaces places;
    places.map = fitted(part, room);
    places.row_labels = {places.map.x - left, places.map.y, left - gap, places.map.high};
    places.key_labels = {places.map.x, places.map.y - above, places.map.wide, above - gap};
    if (bar > 0)
        places.bar = {places.map.right() + px(bar_gap), places.map.y, bar - px(bar_gap),
                      std::min(std::max(places.map.high, std::min(room.high, px(120))), px(420))};
    return places;
}

}  // namespace vantage::view
