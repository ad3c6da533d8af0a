// All heads: a row for each layer, a cell for each head, coloured by a statistic or with a thumbnail.
#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "viewer/panels/explanations.h"
#include "viewer/panels/map_drawing.h"
#include "viewer/panels/moves.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// "4 layers × 8 heads"; of an encoder–decoder the rows of the grid are named one by one.
std::string size_text(const ModelInfo& info, bool narrow) {
    if (!info.attends(AttentionKind::self)) return "x: cross attention";
    if (info.attends(AttentionKind::cross)) return narrow ? "e: encoder · x: cross" : "e: encoder · x: cross attention";
    return format("{} layers × {} heads", info.layers_of(AttentionKind::self).size(), info.heads);
}

std::string statistic_text(const Ui& ui, std::size_t head) {
    if (head >= ui.heads.size()) return "–";
    const double value = ui.heads[head][ui.state.statistic];
    return std::isnan(value) ? "–" : format("{:.3g}", value);
}

/// Addresses of the thumbnails and of those to subtract, for a difference of runs with as many heads.
std::pair<std::uint64_t, std::uint64_t> mini_maps_of(const Ui& ui) {
    const std::uint64_t own = ui.run.frame->mini_maps.address;
    if (!ui.focus.two || ui.focus.two->shown != ShownRuns::difference) return {own, 0};
    const FrameData *a = ui.focus.two->frame(false), *b = ui.focus.two->frame(true);
    if (a == nullptr || b == nullptr || a->slots != b->slots || a->heads.size() != b->heads.size()) return {0, 0};
    return {b->mini_maps.address, a->mini_maps.address};
}

void draw_cell(const Ui& ui, const Box& box, std::size_t head, std::pair<double, double> range) {
    if (ui.state.mini_maps && ui.run.frame->mini_maps.address != 0) {
        const MiniMap& own = ui.run.frame->mini_map_shapes[head];
        fill(box, own.rows > 0 ? ui.palette.unknown : ui.palette.raised);
        const auto [map, minus] = mini_maps_of(ui);
        if (own.rows > 0 && own.columns > 0)
            draw_map(ui, {.map = map,
                          .minus = minus,
                          .box = box,
                          .part = {0, own.rows, 0, own.columns},
                          .mini_map = static_cast<std::int64_t>(head),
                          .hide_future = own.causal});
        return;
    }
    const double value = head < ui.heads.size() ? ui.heads[head][ui.state.statistic] : NAN;
    if (std::isnan(value)) return fill(box, ui.palette.raised, ui.px(2));
    const double share = range.second > range.first ? (value - range.first) / (range.second - range.first) : 0.5;
    const Rgb colour = colour_at(ui.state.colours, static_cast<float>(share), ui.palette.dark);
    fill(box, packed(colour), box.wide >= ui.px(10) ? ui.px(2) : 0);
    if (ui.state.order == HeadOrder::index) return;
    const HeadId& id = ui.run.live.heads()[head];
    const std::string name = format("{}.{}", layer_label(id), id.head);
    if (width_of(small(ui), name) <= box.wide)
        put_middle(small(ui), box.x + box.wide / 2, box.y + (box.high - ui.fonts.small.size) / 2, ink_on(colour), name);
}

/// A light frame on a dark one is visible on every colour; around small cells it leaves their neighbours visible.
void mark_cell(const Ui& ui, const Box& cell, ImU32 colour) {
    if (cell.wide >= ui.px(10)) return outline(cell.inset(-ui.px(2)), colour, ui.px(2), ui.px(3));
    outline(cell.inset(-2), ui.palette.panel, 1);
    outline(cell.inset(-1), colour, 1);
}

/// Frames heads that share keys and values.
void draw_groups(const Ui& ui, const HeadCells& cells) {
    const ModelInfo& info = ui.run.live.model().info();
    if (ui.state.order != HeadOrder::index || info.kv_heads <= 0 || info.kv_heads == info.heads) return;
    const std::int64_t group = info.heads / info.kv_heads;
    for (std::int64_t row = 0; row < cells.rows; ++row) {
        for (std::int64_t first = 0; first < info.heads; first += group) {
            const Box a = cells.at(row, first), b = cells.at(row, first + group - 1);
            outline(Box{a.x, a.y, b.right() - a.x, a.high}.inset(-1), faded(ui.palette.faint, 0.5f), 1, ui.px(3));
        }
    }
}

void draw_axis(const Ui& ui, const HeadCells& cells, const HeadOrderCells& order) {
    const Face face = small(ui);
    const bool sorted = ui.state.order == HeadOrder::value;
    const auto every = [&](float room) {
        return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(room / cells.step)));
    };
    const std::int64_t row_step = every(face.size * 1.3f), column_step = every(width_of(face, "H00") + ui.px(4));
    for (std::int64_t row = 0; row < cells.rows; row += row_step) {
        const HeadId& head = ui.run.live.heads()[vantage::at(order, row * cells.columns).value_or(0)];
        const std::string name = sorted ? format("{}.", row * cells.columns + 1) : layer_name(head);
        put_right(face, cells.left - ui.px(6), cells.at(row, 0).y + (cells.side() - face.size) / 2, ui.palette.faint,
                  name);
    }
    for (std::int64_t column = 0; column < cells.columns && !sorted; column += column_step)
        put_middle(face, cells.at(0, column).x + cells.side() / 2, cells.box.y - face.size - ui.px(5), ui.palette.faint,
                   format("H{}", column));
}

/// What the colours of the cells are.
struct Legend {
    const ColourTable& colours;
    std::string name, low, high, meaning;
};

Legend legend_of(const Ui& ui, std::pair<double, double> range) {
    const bool dark = ui.palette.dark;
    const ColourTable& colours = colours_of(ui.state.colours, dark);
    const std::string more = dark ? "brighter: " : "darker: ";
    if (!ui.state.mini_maps) {
        const bool known =
            std::ranges::any_of(ui.heads, [&](const HeadMeans& head) { return !std::isnan(head[ui.state.statistic]); });
        const auto end = [&](double value) { return known ? format("{:.2g}", value) : "–"; };
        return {colours, shown_name(ui.state.statistic, ui.run.live), end(range.first), end(range.second),
                more + meaning_of_large(ui.state.statistic)};
    }
    if (ui.focus.two && ui.focus.two->shown == ShownRuns::difference)
        return {difference_colours(dark), "B − A", format("−{:.2g}", ui.state.difference_max),
                format("+{:.2g}", ui.state.difference_max), "each cell: a head's whole map"};
    const auto [ends, scale] = thumbnail_scale(ui.state);
    return {colours, format("weight, {} scale", name_of(scale)), format("{:.2g}", ends.min), format("{:.2g}", ends.max),
            "each cell: a head's whole map"};
}

void draw_legend(const Ui& ui, const Box& panel, const Legend& legend) {
    const Face face = small(ui);
    const float left = panel.x + ui.px(12), wide = panel.wide - ui.px(24), line = face.size;
    const float caption = panel.bottom() - ui.px(11) - line;
    const Box bar{left, caption - ui.px(6 + 8), wide, ui.px(8)};
    const auto steps = static_cast<int>(bar.wide);
    for (int i = 0; i < steps; ++i)
        fill({bar.x + static_cast<float>(i), bar.y, 1, bar.high},
             packed(at(legend.colours, i * 255 / std::max(1, steps - 1))));
    const float y = bar.y - line - ui.px(5);
    put(face, bar.x, y, ui.palette.faint, legend.low);
    put_right(face, bar.right(), y, ui.palette.faint, legend.high);
    put_middle(face, bar.x + bar.wide / 2, y, ui.palette.ink, legend.name);
    put(face, left, caption, ui.palette.faint, fitted(face, legend.meaning, wide));
    explain_number(ui, {left, y, wide, panel.bottom() - y}, legend.name.substr(0, legend.name.find(',')));
}

}  // namespace

HeadGrid head_grid(const LiveModel& live) {
    const ModelInfo& info = live.model().info();
    HeadGrid grid{0, 1};
    for (const AttentionKind kind : {AttentionKind::encoder, AttentionKind::self, AttentionKind::cross}) {
        grid.rows += std::ssize(info.layers_of(kind));
        grid.columns = std::max(grid.columns, info.heads_of(kind));
    }
    return grid;
}

HeadOrderCells head_cells(const LiveModel& live, const ViewState& state, std::span<const HeadMeans> numbers) {
    const std::vector<HeadId>& heads = live.heads();
    const HeadGrid grid = head_grid(live);
    HeadOrderCells cells(static_cast<std::size_t>(grid.rows * grid.columns));
    if (state.order == HeadOrder::index || numbers.size() != heads.size()) {
        std::int64_t row = -1;
        for (std::size_t i = 0; i < heads.size(); ++i) {
            if (heads[i].head == 0) ++row;
            at(cells, row * grid.columns + heads[i].head) = i;
        }
        return cells;
    }
    std::vector<std::size_t> order(heads.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto value = [&](std::size_t i) { return numbers[i][state.statistic]; };
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        if (std::isnan(value(a)) || std::isnan(value(b))) return !std::isnan(value(a)) && std::isnan(value(b));
        return value(a) > value(b);
    });
    std::ranges::copy(order, cells.begin());
    return cells;
}

std::pair<double, double> range_of(std::span<const HeadMeans> heads, HeadStatistic statistic) {
    double low = 1e300, high = -1e300;
    for (const HeadMeans& head : heads) {
        const double value = head[statistic];
        if (std::isnan(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    return low <= high ? std::pair{low, high} : std::pair{0.0, 1.0};
}

void draw_head_map(const Ui& ui) {
    const Box& box = ui.layout.heads;
    const Panel panel("heads", box);
    if (!panel) return;
    heading(ui, box, "Heads",
            ui.state.order == HeadOrder::value ? "sorted, largest first"
                                               : size_text(ui.run.live.model().info(), box.wide < ui.px(270)));
    const HeadCells cells = lay_head_cells(box, head_grid(ui.run.live), ui.scale);
    explain_number(ui, {box.x, box.y, box.wide, cells.box.y - box.y}, "L0, H0");
    explain_number(ui, {box.x, cells.box.y, cells.left - box.x, cells.box.high}, "L0, H0");
    const HeadOrderCells order = head_cells(ui.run.live, ui.state, ui.heads);
    const std::pair<double, double> range = range_of(ui.heads, ui.state.statistic);
    draw_axis(ui, cells, order);
    std::optional<Box> focused;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (!order[i]) continue;
        const auto place = static_cast<std::int64_t>(i);
        const Box cell = cells.at(place / cells.columns, place % cells.columns);
        const HeadId& head = ui.run.live.heads()[*order[i]];
        draw_cell(ui, cell, *order[i], range);
        if (head == ui.focus.head) focused = cell;
        if (!is_pointed_at(cell.inset(-cells.gap / 2))) continue;
        outline(cell.inset(-1), ui.palette.strong, 1, ui.px(2));
        ImGui::SetTooltip("%s\n%s %s", head_name(head).c_str(), shown_name(ui.state.statistic, ui.run.live).c_str(),
                          statistic_text(ui, *order[i]).c_str());
        if (ImGui::IsMouseClicked(0)) {
            ui.state.head = head;
            forget_misfits(ui.state, ui.at, ui.focus.head.kind, head.kind);
        }
    }
    draw_groups(ui, cells);
    if (focused) mark_cell(ui, *focused, ui.palette.accent);
    draw_legend(ui, box, legend_of(ui, range));
}

}  // namespace vantage::view
