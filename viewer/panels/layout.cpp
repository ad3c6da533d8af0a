#include "viewer/panels/layout.h"

#include <cmath>

#include "viewer/panels/map_view.h"

namespace vantage::view {
namespace {

constexpr float gap = 8, min_map = 240;
constexpr float low_window = 560, heads_from = 584;  // heights below it are low; widths with room for the heads
constexpr float min_heads = 160;                     // height of the heads
constexpr float cell_from = 844, min_focus = 320;    // widths with room for the cell; of the map beside other panels
constexpr float min_column = 180;                    // width of a panel beside the map that the user has set
constexpr float bar_gap = 14, bar_alone = 63;        // gap before the colour bar; its width with numbers
constexpr float lying_bar = bar_histogram + 34;      // its height below a map

/// Heights of the panels below the map, at a scale of 1; 0: removed.
struct Heights {
    float prompt = 0, timeline = 0, tokens = 0;
};

/// Height of the text or the image below the heads.
float beside_map(const LayoutWishes& wishes) { return wishes.image ? 156 : 96; }

float text_height(float lines) { return text_above + text_below + lines * text_line; }

/// Where the text or the image is.
enum class TextPlace : std::uint8_t { below_map, below_heads, above_inspector };

TextPlace text_place(float wide, float high, const LayoutWishes& wishes) {
    if (wishes.image && wide >= cell_from) return TextPlace::above_inspector;
    return wide >= heads_from && high < low_window && !wishes.large_heads ? TextPlace::below_heads
                                                                          : TextPlace::below_map;
}

/// Fills the space that the map leaves, most important panels first.
Heights share_out(float height, const LayoutWishes& wishes, TextPlace text) {
    float left = height - (text == TextPlace::below_heads ? min_heads + gap + beside_map(wishes) : min_map);
    bool full = false;
    const auto take = [&](float high) {
        full = full || left < high + gap;  // then less important panels are removed, too
        if (full) return 0.0f;
        left -= high + gap;
        return high;
    };
    const float few = wishes.two_texts ? 3 : 1,
                max_lines = std::min(static_cast<float>(wishes.text_lines), few + 3);  // lines
    Heights h;
    if (wishes.prompt) h.prompt = std::max(take(44), 44.0f);
    if (text == TextPlace::below_map) h.tokens = take(wishes.image ? 120 : text_height(few));
    if (!wishes.image) h.timeline = take(height < low_window ? 30 : 58);
    if (!wishes.prompt) h.prompt = take(44);
    if (const auto set = static_cast<float>(wishes.sizes.text_height); set > 0 && h.tokens > 0) {
        h.tokens = std::clamp(set, h.tokens, h.tokens + std::max(0.0f, left));
        return h;
    }
    if (wishes.image && h.tokens > 0) h.tokens += std::clamp(height * 0.42f - 120, 0.0f, std::max(0.0f, left));
    if (wishes.image || h.tokens <= 0) return h;
    for (float lines = few + 1; lines <= max_lines && left >= text_line; ++lines) {
        if (text_height(lines) > height * 0.13f) break;
        left -= text_line;
        h.tokens = text_height(lines);
    }
    return h;
}

constexpr float heads_above = 54, heads_below = 70, heads_beside = 50;  // of the panel, around the grid

/// The left column: the heads, and below them their statistics or the text.
void lay_heads(Layout& l, float scale, const LayoutWishes& wishes, const Box& column, TextPlace text) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    // The grid takes what square cells need and leaves room for what is below.
    const float cell = std::min((column.wide - px(heads_beside)) / static_cast<float>(wishes.heads.columns), px(64));
    const float needed = px(heads_above + heads_below) + cell * static_cast<float>(wishes.heads.rows);
    const float beside = gap + beside_map(wishes);
    const bool text_below = text == TextPlace::below_heads && column.high >= px(min_heads + beside);
    const bool numbers = !text_below && !wishes.large_heads && column.high >= px(min_heads + 258);
    const float below = text_below ? px(beside) : numbers ? px(258) : 0;
    l.heads = column;
    if (below <= 0) return;
    l.heads.high = std::round(std::max(px(min_heads), std::min(needed, column.high - below)));
    Box& rest = text_below ? l.tokens : l.numbers;
    rest = {column.x, l.heads.bottom() + px(gap), column.wide, column.high - l.heads.high - px(gap)};
}

/// Widths of the panels beside the map, in pixels; 0: removed.
struct Columns {
    float heads = 0, cell = 0;
};

/// Height of an image above the cell. It has as much of the height as the numbers of the cell can spare.
float image_height(float room, float scale) {
    constexpr float cell_numbers = 310;
    return std::round(std::max(room * 0.4f, room - std::round(cell_numbers * scale)));
}
constexpr float image_above = 44;  // and below it, in its panel

Columns share_width(const Box& room, float scale, const LayoutWishes& wishes) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    const auto set = [&](std::int64_t size) { return px(static_cast<float>(size)); };
    const PanelSizes& sizes = wishes.sizes;
    const float side = room.wide < px(1164) ? px(236) : px(284), column = px(min_column), map = px(min_focus);
    Columns c;
    if (room.wide < px(heads_from)) return c;
    c.heads = side;
    if (wishes.large_heads) {
        const float cell =
            std::min((room.high - px(heads_above + heads_below)) / static_cast<float>(wishes.heads.rows), px(64));
        c.heads = std::round(std::clamp(px(heads_beside) + cell * static_cast<float>(wishes.heads.columns), side,
                                        std::max(side, room.wide - map)));
    }
    // A set width leaves the cell its place; enlarged heads may take it.
    const bool keeps_cell = room.wide >= px(cell_from) && !wishes.large_heads;
    if (sizes.heads_width > 0)
        c.heads =
            std::clamp(set(sizes.heads_width), column, room.wide - map - px(gap) - (keeps_cell ? column + px(gap) : 0));
    const float least = sizes.heads_width > 0 || sizes.cell_width > 0 ? column : side;
    const float left = room.wide - c.heads - 2 * px(gap);
    if (room.wide < px(cell_from) || left - least < map) return c;
    // An image has as much of the width as the map can spare.
    c.cell = !wishes.image
                 ? side
                 : std::round(std::clamp(std::min(room.wide * 0.3f, image_height(room.high, scale) - px(image_above)),
                                         side, px(480)));
    if (sizes.cell_width > 0) c.cell = set(sizes.cell_width);
    c.cell = std::clamp(c.cell, least, left - map);
    return c;
}

/// Heads at the left, the inspector at the right, the map in between.
void lay_columns(Layout& l, float scale, const LayoutWishes& wishes, const Box& room, TextPlace text) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    const Columns columns = share_width(room, scale, wishes);
    l.focus = room;
    if (columns.heads > 0) {
        lay_heads(l, scale, wishes, {room.x, room.y, columns.heads, room.high}, text);
        l.focus.x += columns.heads + px(gap), l.focus.wide -= columns.heads + px(gap);
    }
    if (columns.cell <= 0) return;
    l.inspector = {room.right() - columns.cell, room.y, columns.cell, room.high};
    l.focus.wide -= columns.cell + px(gap);
    if (!wishes.image) return;
    l.tokens = {l.inspector.x, room.y, columns.cell,
                std::min(columns.cell + px(image_above), image_height(room.high, scale))};
    l.inspector.y = l.tokens.bottom() + px(gap);
    l.inspector.high = room.high - l.tokens.high - px(gap);
}

}  // namespace

float message_width(float width, float scale) { return width - 2 * std::round(gap * scale); }

Layout lay_out(float width, float height, float scale, const LayoutWishes& wishes) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    Layout l;
    l.too_small = width < px(min_width) || height < px(min_height);
    if (l.too_small) return l;
    l.bar = {0, 0, width, px(36)};
    if (wishes.message > 0 && height - wishes.message >= px(min_height))
        l.message = {px(gap), l.bar.bottom(), message_width(width, scale), wishes.message};
    const float above = l.bar.high + l.message.high + px(gap);
    Box room{px(gap), above, width - 2 * px(gap), height - above - px(gap)};
    const TextPlace text = text_place(room.wide / scale, room.high / scale, wishes);
    const Heights h = share_out(room.high / scale, wishes, text);
    const auto from_below = [&](Box& panel, float high) {
        if (high <= 0) return;
        panel = {room.x, room.bottom() - px(high), room.wide, px(high)};
        room.high -= px(high) + px(gap);
    };
    from_below(l.prompt, h.prompt);
    from_below(l.timeline, h.timeline);
    from_below(l.tokens, h.tokens);
    lay_columns(l, scale, wishes, room, text);
    return l;
}

std::vector<Splitter> splitters(const Layout& l) {
    std::vector<Splitter> found;
    const Box& map = l.focus;
    if (l.heads.wide > 0)
        found.push_back({"Heads",
                         &PanelSizes::heads_width,
                         {l.heads.right(), map.y, map.x - l.heads.right(), map.high},
                         true,
                         l.heads.wide,
                         1});
    if (l.inspector.wide > 0)
        found.push_back({"Cell",
                         &PanelSizes::cell_width,
                         {map.right(), map.y, l.inspector.x - map.right(), map.high},
                         true,
                         l.inspector.wide,
                         -1});
    if (l.tokens.wide > 0 && l.tokens.y >= map.bottom())
        found.push_back({"Text",
                         &PanelSizes::text_height,
                         {l.tokens.x, map.bottom(), l.tokens.wide, l.tokens.y - map.bottom()},
                         false,
                         l.tokens.high,
                         -1});
    return found;
}

std::string missing_panels(const Layout& before, const Layout& now) {
    struct Named {
        const char* name;
        Box Layout::*box;
    };
    static constexpr Named panels[] = {{"Cell", &Layout::inspector},     {"Heads", &Layout::heads},
                                       {"Statistics", &Layout::numbers}, {"Text", &Layout::tokens},
                                       {"Time", &Layout::timeline},      {"Prompt", &Layout::prompt}};
    std::string names;
    for (const auto& [name, box] : panels)
        if ((before.*box).wide > 0 && (now.*box).wide <= 0) names += (names.empty() ? "" : ", ") + std::string(name);
    return names;
}

HeadCells lay_head_cells(const Box& panel, const HeadGrid& grid, float scale) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    const float label = px(26);
    HeadCells cells{.rows = grid.rows, .columns = grid.columns};
    cells.box = {panel.x + px(12) + label, panel.y + px(heads_above), std::max(0.0f, panel.wide - px(heads_beside)),
                 std::max(0.0f, panel.high - px(heads_above + heads_below))};
    const float wide = cells.box.wide / static_cast<float>(grid.columns),
                high = cells.box.high / static_cast<float>(grid.rows);
    cells.step = std::max(1.0f, std::floor(std::min({wide, high, px(64)})));
    cells.gap = cells.step >= px(10) ? px(2) : 0;  // between smaller cells it would be a pattern of its own
    cells.left = std::round(cells.box.x + (cells.box.wide - cells.step * static_cast<float>(grid.columns)) / 2);
    return cells;
}

float focus_bar_width(float panel_wide, float scale) {
    const float wide = panel_wide / scale;
    const float bar = wide >= 440 ? bar_alone + bar_histogram : wide >= 220 ? bar_alone : 0;
    return bar > 0 ? std::round(scale * bar) + std::round(scale * bar_gap) : 0;
}

float row_label_width(float panel_wide, float longest, float scale) {
    return std::round(std::min({longest, std::round(110 * scale), (panel_wide - std::round(24 * scale)) / 4}));
}

Box image_place(const Box& panel, int wide, int high, float scale) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    const Box room{panel.x + px(12), panel.y + px(36), panel.wide - px(24), std::max(0.0f, panel.high - px(76))};
    const float side = std::min(room.wide / static_cast<float>(wide), room.high / static_cast<float>(high));
    const float w = std::round(side * static_cast<float>(wide)), h = std::round(side * static_cast<float>(high));
    return {std::round(room.x + (room.wide - w) / 2), std::round(room.y), w, h};
}

FocusPlaces focus_places(const Box& panel, const Rectangle& part, float row_label, float key_label, float scale,
                         bool bar_below) {
    const auto px = [&](float logical) { return std::round(logical * scale); };
    const Box inside{panel.x + px(12), panel.y + px(40), panel.wide - px(24), panel.high - px(52)};
    // In a small panel labels get at most a quarter and are shortened; in a very small one the axes have no titles.
    const float gap = px(6), bar = bar_below ? 0 : focus_bar_width(panel.wide, scale),
                below = bar_below ? px(bar_gap + lying_bar) : 0;
    const float title = std::min(panel.wide, panel.high) >= px(190) ? px(18) : 0;
    const float left = row_label_width(panel.wide, row_label, scale) + gap + title,
                above = std::round(std::min({key_label, px(92), inside.high / 4})) + gap + title;
    const Box room{inside.x + left, inside.y + above, inside.wide - left - bar,
                   std::max(0.0f, inside.high - above - below)};
    FocusPlaces places;
    places.map = fitted(part, room);
    places.row_labels = {places.map.x - left + title, places.map.y, left - gap - title, places.map.high};
    places.key_labels = {places.map.x, places.map.y - above + title, places.map.wide, above - gap - title};
    if (title > 0) {
        places.row_title = {places.map.x - left, places.map.y, title, places.map.high};
        places.key_title = {places.map.x, places.map.y - above, places.map.wide, title};
    }
    places.bar_lies = bar_below;
    if (bar_below)
        places.bar = {places.map.x, places.map.bottom() + px(bar_gap), places.map.wide, px(lying_bar)};
    else if (bar > 0)
        places.bar = {places.map.right() + px(bar_gap), places.map.y, bar - px(bar_gap),
                      std::min(std::max(places.map.high, std::min(room.high, px(120))), px(420))};
    return places;
}

}  // namespace vantage::view
