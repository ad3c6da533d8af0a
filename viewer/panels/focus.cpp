// The map of the focused head with labels, crosshair and pins, and its mouse input.
#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "viewer/panels/cell_values.h"
#include "viewer/panels/map_drawing.h"
#include "viewer/panels/moves.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/shown_value.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// Cells from label to label, so that labels do not overlap: 1, 2, 5, 10 …
std::int64_t label_step(double pixels_per_cell, double line) {
    constexpr std::array<std::int64_t, 3> nice{1, 2, 5};
    constexpr std::int64_t maximum = 1'000'000'000'000;  // without rows, or without space
    for (std::int64_t power = 1; power < maximum; power *= 10) {
        for (const std::int64_t n : nice)
            if (static_cast<double>(n * power) * pixels_per_cell >= line) return n * power;
    }
    return maximum;
}

/// A pane while it is drawn.
struct PaneUi : Ui {
    const Pane& pane;
    const MapView& map;
};

/// Calls `draw(cell, thinned)` for the labels of an axis that are drawn: every so many, and the marked one in place of
/// those that it would overlap.
template <class Draw>
void each_label(double first, double last, double pixels, double line, std::int64_t count,
                std::optional<std::int64_t> marked, Draw draw) {
    if (pixels <= 0) return;  // an empty map
    const std::int64_t step = label_step(pixels, line);
    const auto begin = static_cast<std::int64_t>(std::floor(first));
    const std::int64_t end = std::min(static_cast<std::int64_t>(std::ceil(last)), count);
    for (std::int64_t cell = (begin + step - 1) / step * step; cell < end; cell += step)
        if (!marked || static_cast<double>(std::abs(cell - *marked)) * pixels >= line) draw(cell, step > 1);
    if (marked) draw(*marked, step > 1);
}

/// Of a slot's token in the text in front, else in that of the other run.
std::optional<std::int64_t> position_of(const FocusedHead& focus, Pin::Kind kind, std::int64_t slot) {
    const bool row = kind == Pin::Kind::query;
    const auto own = (row ? focus.row_slots : focus.key_slots).token(slot);
    if (own || !focus.two) return own;
    const RunComparison& comparison = focus.two->comparison;
    const Alignment& both = row ? comparison.row_slots(focus.head.kind) : comparison.key_slots(focus.head.kind);
    const auto in_a = both.a.token(slot);
    return in_a ? in_a : both.b.token(slot);
}

/// A label with the position of its token where labels are missing in between: then the words alone tell no place.
std::string axis_label(const Face& face, const std::string& label, std::optional<std::int64_t> position, float room) {
    if (!position) return fitted(face, label, room);
    const std::string place = with_position("", *position);
    return fitted(face, label, room - width_of(face, place)) + place;
}

std::string column_label(const Ui& ui, std::int64_t column) {
    if (ui.state.axis == KeyAxis::relative) {
        const std::int64_t before = column - ui.focus.own_column;
        return before == 0 ? "self" : format("{}{}", before > 0 ? "−" : "+", std::abs(before));
    }
    return label_of(ui.focus.key_labels, column);
}

ImU32 label_colour(const Ui& ui, bool marked, Pin::Kind kind, std::int64_t token) {
    const bool distance = kind == Pin::Kind::key && ui.state.axis == KeyAxis::relative,
               pinned = !distance && std::ranges::count(ui.state.pins, Pin{kind, token}) != 0;
    return marked ? ui.palette.accent : pinned ? ui.palette.strong : ui.palette.faint;
}

void draw_row_labels(const PaneUi& ui) {
    const Face& face = small(ui);
    const Box& box = ui.pane.places.row_labels;
    if (box.wide <= 0) return;
    explain_number(ui, box, "query");
    const double pixels = ui.map.pixels_per_row();
    const auto cell = ui.at.cell();
    each_label(ui.map.part.first_row, ui.map.part.last_row, pixels, label_pitch(face), ui.map.rows,
               cell ? std::optional(cell->first) : std::nullopt, [&](std::int64_t row, bool thinned) {
                   const auto middle = ui.map.y_of(row) + static_cast<float>(pixels / 2);
                   if (middle < box.y || middle > box.bottom()) return;
                   const bool marked = cell && cell->first == row;
                   const auto position = thinned && !ui.run.tokens.patches_in_rows(ui.focus.head.kind)
                                             ? position_of(ui.focus, Pin::Kind::query, row)
                                             : std::nullopt;
                   put_right(face, box.right(), middle - face.size / 2, label_colour(ui, marked, Pin::Kind::query, row),
                             axis_label(face, label_of(ui.focus.row_labels, row), position, box.wide));
               });
}

void draw_column_labels(const PaneUi& ui) {
    const Face& face = small(ui);
    const Box& box = ui.pane.places.key_labels;
    explain_number(ui, box, ui.state.axis == KeyAxis::relative ? "distance" : "attends to");
    const double pixels = ui.map.pixels_per_column();
    const auto cell = ui.at.cell();
    each_label(ui.map.part.first_column, ui.map.part.last_column, pixels, label_pitch(face), ui.map.columns,
               cell ? std::optional(cell->second) : std::nullopt, [&](std::int64_t column, bool thinned) {
                   const auto middle = ui.map.x_of(column) + static_cast<float>(pixels / 2);
                   if (middle < box.x || middle > box.right()) return;
                   const bool marked = cell && cell->second == column, key = ui.state.axis == KeyAxis::absolute;
                   const auto position = thinned && key && !ui.run.tokens.patches_in_keys(ui.focus.head.kind)
                                             ? position_of(ui.focus, Pin::Kind::key, column)
                                             : std::nullopt;
                   put_upwards(face, middle, box.bottom(), label_colour(ui, marked, Pin::Kind::key, column),
                               axis_label(face, column_label(ui, column), position, box.high));
               });
}

/// What the axes are.
void draw_axis_titles(const PaneUi& ui) {
    const Face& face = small(ui);
    const Box &rows = ui.pane.places.row_title, &keys = ui.pane.places.key_title;
    if (keys.wide <= 0 || ui.map.box.high <= 0) return;
    const std::string query = fitted(face, query_title, rows.high);
    if (rows.wide > 0)
        put_upwards(face, rows.x + rows.wide / 2 - ui.px(2), rows.y + width_of(face, query), ui.palette.ink, query);
    const char* title = ui.state.axis == KeyAxis::relative ? distance_title : key_title;
    put(face, keys.x, keys.y, ui.palette.ink, fitted(face, title, ui.pane.box.right() - keys.x - ui.px(12)));
}

std::string row_sum_text(const Ui& ui, std::int64_t slot) {
    const std::optional<std::int64_t> row = ui.focus.row_slots.token(slot);
    const std::string name = format("row {} “", row.value_or(slot)) + label_of(ui.focus.row_labels, slot) + "” ";
    if (!row) return name + "is not in this text";
    const auto off = std::ranges::find(ui.run.frame->off_rows, *row, &OffRow::row);
    if (off != ui.run.frame->off_rows.end()) return name + format("sums to {:.4g}", off->sum);
    return name + (*row < ui.run.frame->rows_checked ? "sums to 1" : "has no sum yet");
}

/// Rows that do not sum to 1, between two places.
std::span<const OffRow> off_rows_between(const Ui& ui, double first, double last) {
    const auto slot = [&](const OffRow& off) { return static_cast<double>(ui.focus.row_slots.slot_of(off.row)); };
    const auto begin =
        std::ranges::partition_point(ui.run.frame->off_rows, [&](const OffRow& off) { return slot(off) <= first; });
    return {begin, std::partition_point(begin, ui.run.frame->off_rows.end(),
                                        [&](const OffRow& off) { return slot(off) < last; })};
}

/// A strip between labels and map: green where rows sum to 1, red and wider where one does not, grey where it is not
/// known yet.
void draw_row_sums(const PaneUi& ui) {
    if (ui.run.frame->rows_checked == 0) return;
    const MapView& map = ui.map;
    const Box strip{map.box.x - ui.px(5), map.box.y, ui.px(3), map.box.high};
    const auto part = [&](double first, double last, ImU32 colour, float minimum, float wider = 0) {
        const float top = std::clamp(map.y_of(first), strip.y, strip.bottom()),
                    bottom = std::clamp(map.y_of(last), strip.y, strip.bottom());
        fill({strip.x - wider, top, strip.wide + wider, std::max(bottom - top, minimum)}, colour);
    };
    const auto checked =
        static_cast<double>(std::min(ui.focus.row_slots.slot_of(ui.run.frame->rows_checked), map.rows));
    part(map.part.first_row, map.part.last_row, ui.palette.line, 0);
    part(map.part.first_row, checked, ui.palette.good, 0);
    float drawn_to = strip.y - 1;  // one row per pixel is enough
    for (const OffRow& off : off_rows_between(ui, map.part.first_row - 1, map.part.last_row)) {
        const std::int64_t row = ui.focus.row_slots.slot_of(off.row);
        if (map.y_of(row + 1) < drawn_to + 1) continue;
        part(static_cast<double>(row), static_cast<double>(row + 1), ui.palette.bad, ui.px(2), ui.px(4));
        drawn_to = map.y_of(row + 1);
    }
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    if (!is_pointed_at({strip.x - ui.px(3), strip.y, strip.wide + ui.px(6), strip.high})) return;
    // The row at the mouse, or one next to it that does not sum to 1.
    const double reach = static_cast<double>(ui.px(2)) / map.pixels_per_row();
    const double at = map.part.first_row + static_cast<double>(mouse.y - map.box.y) / map.pixels_per_row();
    auto row = std::clamp<std::int64_t>(static_cast<std::int64_t>(at), 0, map.rows - 1);
    for (const OffRow& off : off_rows_between(ui, at - 0.5 - std::max(reach, 0.5), at - 0.5 + std::max(reach, 0.5)))
        row = ui.focus.row_slots.slot_of(off.row);
    ImGui::SetTooltip("%s", row_sum_text(ui, row).c_str());
}

/// The weight in a cell: all cells have as many decimals, as many as fit, without the 0 before the point.
std::string number_for(const Face& face, float value, float room) {
    const auto fit = std::clamp((room - width_of(face, ".")) / width_of(face, "0"), 1.0f, 5.0f);
    const auto decimals = static_cast<int>(fit);
    std::string text = format("{:.{}f}", value, decimals);
    if (text.starts_with("0.")) text.erase(0, 1);
    while (width_of(face, text) > room && text.find('.') != std::string::npos) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
    return text;
}

/// The weight of one run as its map shows it; NaN if there is none or it is not known yet.
float weight_at(const Ui& ui, bool of_b, std::int64_t row, std::int64_t column) {
    const FrameData* frame = ui.focus.two ? ui.focus.two->frame(of_b) : ui.run.frame;
    if (frame == nullptr || frame->numbers == nullptr || frame->numbers->axis != ui.state.axis) return NAN;
    static const SideSlots plain;
    const SideSlots& slots = ui.focus.two ? ui.focus.two->comparison.slots(of_b) : plain;
    const auto query = slots.rows_of(ui.focus.head.kind).token(row);
    const auto key = ui.state.axis == KeyAxis::relative ? column : slots.keys_of(ui.focus.head.kind).token(column);
    return query && key ? frame->numbers->at(*query, *key) : NAN;
}

/// Value and colour of a cell.
std::pair<float, Rgb> shown_at(const Ui& ui, ShownRuns shown, std::int64_t row, std::int64_t column) {
    if (shown != ShownRuns::difference) {
        const float value = weight_at(ui, shown == ShownRuns::b, row, column);
        return {value, colour_at(ui.state.colours, std::isnan(value) ? 0 : ui.position(value), ui.palette.dark)};
    }
    const float change = weight_at(ui, true, row, column) - weight_at(ui, false, row, column);
    if (std::isnan(change)) return {change, {}};
    const float place = signed_position(change, ui.state.difference_max, ui.state.scale);
    return {change, difference_colour_at(ui.palette.dark, place)};
}

/// Writes weights into cells that are large enough.
void draw_weights(const PaneUi& ui) {
    const ShownRuns shown = ui.pane.shown;
    const MapView& map = ui.map;
    const double side = std::min(map.pixels_per_row(), map.pixels_per_column());
    if (side < static_cast<double>(numbered_cell * ui.scale)) return;
    const Face face = small(ui);
    const auto high = static_cast<float>(map.pixels_per_row()), wide = static_cast<float>(map.pixels_per_column());
    ImDrawList& list = window_list();
    list.PushClipRect({map.box.x, map.box.y}, {map.box.right(), map.box.bottom()}, true);
    for (auto row = static_cast<std::int64_t>(map.part.first_row);
         row < std::min(map.rows, static_cast<std::int64_t>(std::ceil(map.part.last_row))); ++row)
        for (auto column = static_cast<std::int64_t>(map.part.first_column);
             column < std::min(map.columns, static_cast<std::int64_t>(std::ceil(map.part.last_column))); ++column) {
            const auto [value, colour] = shown_at(ui, shown, row, column);
            if (std::isnan(value)) continue;
            // cut off at an edge, the tail of a number would be another number
            const float x = map.x_of(column), y = map.y_of(row);
            if (x < map.box.x - 1 || x + wide > map.box.right() + 1 || y < map.box.y - 1 ||
                y + high > map.box.bottom() + 1)
                continue;
            const std::string sign = shown != ShownRuns::difference || value == 0 ? "" : value < 0 ? "−" : "+";
            put_middle(face, map.x_of(column) + wide / 2, map.y_of(row) + (high - face.size) / 2, ink_on(colour),
                       sign + number_for(face, std::abs(value), wide - ui.px(5) - width_of(face, sign)));
        }
    list.PopClipRect();
}

/// A frame around a whole row or column of cells.
void draw_stripe(const PaneUi& ui, Pin::Kind kind, std::int64_t token, ImU32 colour) {
    const Box& box = ui.map.box;
    Box stripe = box;
    if (kind == Pin::Kind::query) {
        stripe.y = ui.map.y_of(token);
        stripe.high = std::max(1.0f, ui.map.y_of(token + 1) - stripe.y);
    } else {
        stripe.x = ui.map.x_of(token);
        stripe.wide = std::max(1.0f, ui.map.x_of(token + 1) - stripe.x);
    }
    // A light line between two dark ones is visible on every colour.
    outline(Box(stripe).inset(-ui.px(1)), IM_COL32(0, 0, 0, 200), ui.px(3));
    outline(stripe, colour, ui.px(1));
}

void draw_marks(const PaneUi& ui) {
    const Box& box = ui.map.box;
    ImDrawList& list = window_list();
    list.PushClipRect({box.x, box.y}, {box.right(), box.bottom()}, true);
    for (const Pin& pin : ui.state.pins)
        if (pin.kind == Pin::Kind::query || ui.state.axis == KeyAxis::absolute)  // by distance a key has no column
            draw_stripe(ui, pin.kind, pin.token, IM_COL32(255, 255, 255, 255));
    if (const auto cell = ui.at.cell()) {
        const float x0 = ui.map.x_of(cell->second), x1 = ui.map.x_of(cell->second + 1);
        const float y0 = ui.map.y_of(cell->first), y1 = ui.map.y_of(cell->first + 1);
        const ImU32 hair = faded(ui.palette.accent, 0.55f);
        // Through the middle of the cells; along their edges where they have numbers.
        const bool numbered = std::min(x1 - x0, y1 - y0) >= numbered_cell * ui.scale;
        for (const float share : numbered ? std::array{0.0f, 1.0f} : std::array{0.5f, 0.5f}) {
            const float xm = std::floor(x0 + (x1 - x0) * share), ym = std::floor(y0 + (y1 - y0) * share);
            list.AddRectFilled({box.x, ym}, {x0, ym + 1}, hair);
            list.AddRectFilled({x1, ym}, {box.right(), ym + 1}, hair);
            list.AddRectFilled({xm, box.y}, {xm + 1, y0}, hair);
            list.AddRectFilled({xm, y1}, {xm + 1, box.bottom()}, hair);
            if (!numbered) break;
        }
        list.AddRect({x0, y0}, {std::max(x1, x0 + 2), std::max(y1, y0 + 2)}, ui.palette.accent, 0, 0, ui.px(1.5f));
    }
    list.PopClipRect();
}

// ---- the mouse ------------------------------------------------------------------------------------------------------

void zoom_to_box(const PaneUi& ui, std::array<float, 2> from, ImVec2 to) {
    const auto a = ui.map.at(from[0], from[1]), b = ui.map.at(to.x, to.y);
    if (!a || !b) return;
    // The smallest part with square cells that has both corners.
    const double side = std::max({std::abs(b->first - a->first), std::abs(b->second - a->second), min_cells_shown});
    const double row = std::min(a->first, b->first), column = std::min(a->second, b->second);
    ui.state.part = moved({row, row + side, column, column + side}, 0, 0, ui.map.rows, ui.map.columns);
}

void handle_drags(const PaneUi& ui, const ImVec2& mouse) {
    if (ImGui::IsMouseClicked(1)) {
        ui.at.pan_from = {mouse.x, mouse.y};
        ui.at.pan_part = ui.map.part;
    }
    if (ui.at.pan_from && !ImGui::IsMouseDown(1)) ui.at.pan_from.reset();
    if (ui.at.pan_from && ui.at.pan_part) {
        const double rows = static_cast<double>((*ui.at.pan_from)[1] - mouse.y) / ui.map.pixels_per_row();
        const double columns = static_cast<double>((*ui.at.pan_from)[0] - mouse.x) / ui.map.pixels_per_column();
        if (rows != 0 || columns != 0)
            ui.state.part = moved(*ui.at.pan_part, rows, columns, ui.map.rows, ui.map.columns);
    }
    if (ImGui::IsMouseClicked(2)) ui.at.box_from = {mouse.x, mouse.y};
    if (ui.at.box_from && ImGui::IsMouseReleased(2)) {
        zoom_to_box(ui, *ui.at.box_from, mouse);
        ui.at.box_from.reset();
    }
}

void handle_mouse(const PaneUi& ui) {
    const ImGuiIO& io = ImGui::GetIO();
    const auto place = ui.map.at(io.MousePos.x, io.MousePos.y);
    handle_drags(ui, io.MousePos);
    if (!ImGui::IsItemHovered() || !place) return;
    const Cell cell{static_cast<std::int64_t>(place->first), static_cast<std::int64_t>(place->second)};
    if (cell.first < ui.map.rows && cell.second < ui.map.columns) ui.at.hovered = cell;
    if (io.MouseWheel != 0) {
        const double factor = std::pow(0.8, static_cast<double>(io.MouseWheel));
        ui.state.part = zoomed(ui.map.part, factor, place->first, place->second, ui.map.rows, ui.map.columns);
        if (*ui.state.part == whole_map(ui.map.rows, ui.map.columns)) ui.state.part.reset();
    }
    if (ImGui::IsMouseDoubleClicked(0)) {
        ui.state.part.reset();
        toggle_pin(ui.state, {Pin::Kind::query, cell.first});  // reverts the first click
    } else if (ImGui::IsMouseClicked(0) && !io.KeyShift) {
        toggle_pin(ui.state, {Pin::Kind::query, cell.first});
    } else if (ImGui::IsMouseClicked(0)) {
        const auto key = ui.state.axis == KeyAxis::absolute ? std::optional(cell.second) : ui.focus.key;
        if (key) toggle_pin(ui.state, {Pin::Kind::key, *key});
    }
}

/// The current cell, where there is no inspector.
std::string cell_text(const Ui& ui, const CellReading& r) {
    const Modifiers& m = ui.state.modifiers;
    std::string values = drawn_name(ui) + " " + known_text(drawn_value(ui, r), m);
    if (ui.focus.two && ui.focus.two->shown == ShownRuns::both) {
        const DrawnInBoth both = drawn_in_both(ui, r);
        values = drawn_name(ui) + " " + known_text(both.a, m) + " | " + known_text(both.b, m);
    } else if (ui.focus.two && ui.focus.two->shown == ShownRuns::difference) {
        values = "B − A " + change_text(drawn_in_both(ui, r).change, m);
    }
    return values + " · “" + label_of(ui.focus.row_labels, ui.focus.row_slots.slot_of(r.query)) + "” attends to “" +
           label_of(ui.focus.key_labels, ui.focus.key_slots.slot_of(r.key)) + "”";
}

std::string what_is_shown(const Ui& ui) {
    if (ui.layout.inspector.wide <= 0 && ui.at.cell()) {
        if (ui.focus.why_no_weight != nullptr) return ui.focus.why_no_weight;
        if (const auto& r = ui.run.frame->reading; r && r->head == ui.focus.head) return cell_text(ui, *r);
    }
    const Modifiers& m = ui.state.modifiers;
    std::string text = std::string(name_of(ui.state.scale)) + " scale";
    if (m.sink_off) text += " · first token excluded";
    if (m.row_normalised) text += " · rows normalised by maximum";
    if (m.value_weighted) text += " · p·‖v‖";
    if (m.over_expected) text += " · observed / expected";
    if (ui.state.axis == KeyAxis::relative) text += " · relative positions";
    if (ui.run.frame->map.level > 0)
        text += format(" · {} of {} × {} weights per cell", name_of(ui.state.pooling), 1 << ui.run.frame->map.level,
                       1 << ui.run.frame->map.level);
    if (ui.run.frame->map.progress < 1) text += format(" · refining {:.0f} %", 100 * ui.run.frame->map.progress);
    return text;
}

/// Addresses of the map and of the one to subtract. 0 for a difference until both have the same slots and level.
std::pair<std::uint64_t, std::uint64_t> maps_of(const Ui& ui, ShownRuns shown) {
    if (!ui.focus.two) return {ui.run.frame->map.address, 0};
    const FrameData *a = ui.focus.two->frame(false), *b = ui.focus.two->frame(true);
    const auto address = [](const FrameData* frame) { return frame != nullptr ? frame->map.address : 0; };
    if (shown != ShownRuns::difference) return {address(shown == ShownRuns::a ? a : b), 0};
    if (a == nullptr || b == nullptr || a->slots != b->slots || a->map.level != b->map.level) return {0, 0};
    return {address(b), address(a)};
}

void draw_pane_title(const PaneUi& ui) {
    const Pane& pane = ui.pane;
    const Face face = small(ui);
    const float right = pane.last || pane.places.bar_lies ? pane.box.right() - ui.px(12)
                                                          : pane.box.right() - focus_bar_width(pane.box.wide, ui.scale),
                y = pane.box.y + ui.px(14);
    float left = pane.box.x + ui.px(12);
    if (pane.shown == ShownRuns::difference) left = put(face, left, y, ui.palette.strong, "B − A") + ui.px(18);
    const auto name = [&](std::size_t run, float end) {
        const bool there = ui.focus.two->frame(run == 1) != nullptr;
        const std::string text = ui.focus.two->names[run] + (there ? "" : ": no such head");
        left = put(face, left, y, run == 1 ? ui.palette.accent : ui.palette.ink, fitted(face, text, end - left));
    };
    if (pane.shown != ShownRuns::difference) return name(pane.shown == ShownRuns::b ? 1 : 0, right);
    name(0, left + (right - left) / 2 - ui.px(9));
    left += ui.px(18);
    name(1, right);
}

/// In place of a map without rows: why there are none.
void draw_no_map(const Ui& ui) {
    const Box& box = ui.layout.focus;
    const bool failed = !ui.figures.error.empty();  // the error itself is below the menu bar
    const Version& version = ui.run.version;
    const bool rests = version.activity == Activity::ended || version.activity == Activity::idle;
    const std::string text = failed                             ? "The run has failed"
                             : ui.focus.two && version.rows > 0 ? "B is reading the text …"
                             : version.stopped                  ? "Stopped before the model had read a token"
                             : rests                            ? "The model has read nothing yet"
                                                                : "The model is reading the prompt …";
    put_middle(regular(ui), box.x + box.wide / 2, box.y + box.high / 2, failed ? ui.palette.bad : ui.palette.faint,
               fitted(regular(ui), text, box.wide - ui.px(24)));
}

/// The mouse over one map.
void hear_pane(const PaneUi& ui) {
    ImGui::SetCursorScreenPos({ui.map.box.x, ui.map.box.y});
    ImGui::InvisibleButton(
        name_of(ui.pane.shown), {std::max(1.0f, ui.map.box.wide), std::max(1.0f, ui.map.box.high)},
        ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight | ImGuiButtonFlags_MouseButtonMiddle);
    handle_mouse(ui);
}

/// One map with labels and colour bar.
void draw_pane(const PaneUi& ui) {
    const Pane& pane = ui.pane;
    if (ui.focus.two) draw_pane_title(ui);
    const auto [map, minus] = maps_of(ui, pane.shown);
    draw_map(ui, {.map = map, .minus = minus, .box = ui.map.box, .part = ui.map.part});
    if (ui.focus.two) draw_gaps(ui, pane);
    draw_weights(ui);
    if (!ui.focus.two || pane.shown == (ui.focus.two->shown == ShownRuns::b ? ShownRuns::b : ShownRuns::a))
        draw_row_sums(ui);
    draw_marks(ui);
    draw_row_labels(ui);
    draw_column_labels(ui);
    draw_axis_titles(ui);
    if (!pane.last) return;
    if (pane.shown == ShownRuns::difference)
        draw_difference_bar(ui, pane.places.bar);
    else
        draw_colour_bar(ui, pane.places);
}

}  // namespace

void draw_focus(const Ui& ui, const Ui& of_cell, const std::vector<Pane>& panes) {
    const Box& box = ui.layout.focus;
    const Panel panel("focus", box);
    if (!panel) return;
    const float below = heading(ui, box, head_name(ui.focus.head), what_is_shown(of_cell));
    const float name = ui.px(12) + width_of(bold(ui), head_name(ui.focus.head));
    explain_number(ui, {box.x + name, box.y, box.wide - name, below - box.y}, "scale");
    if (panes.front().map.rows == 0) return draw_no_map(ui);
    ui.at.hovered.reset();
    for (const Pane& pane : panes) hear_pane({ui, pane, pane.map});  // first: the mouse over one is drawn in all
    for (const Pane& pane : panes) draw_pane({ui, pane, pane.map});
}

}  // namespace vantage::view
