#include "runtime/picture/flow_chart.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"

namespace vantage::internal {

namespace {

constexpr int box_height = 40, sum_size = 26, level_gap = 38, box_gap = 26, min_box = 96, lane_gap = 16,
              frame_margin = 18, section_gap = 30, column_gap = 90, page_margin = 30, arrow = 5;
constexpr Rgb paper{255, 255, 255}, frame_fill{246, 247, 250}, frame_line{176, 182, 196}, line_colour{84, 92, 112},
    residual_colour{214, 120, 30}, link_colour{120, 80, 190};
constexpr TextStyle title_style{20, {24, 28, 38}, TextWeight::bold},
    caption_style{13, {96, 103, 122}, TextWeight::regular}, box_title{13, {24, 28, 38}, TextWeight::bold},
    box_note{11, {70, 78, 98}, TextWeight::regular}, edge_label{11, {84, 92, 112}, TextWeight::regular},
    frame_label{13, {70, 78, 98}, TextWeight::bold};

struct BoxColours {
    Rgb fill, line;
};
BoxColours colours_of(FlowBox::Kind kind) {
    using Kind = FlowBox::Kind;
    switch (kind) {
        case Kind::data: return {{255, 255, 255}, {140, 148, 168}};
        case Kind::linear: return {{220, 233, 250}, {110, 150, 205}};
        case Kind::norm: return {{250, 244, 205}, {200, 180, 90}};
        case Kind::attention: return {{253, 224, 200}, {220, 140, 80}};
        case Kind::activation: return {{218, 242, 222}, {110, 175, 125}};
        case Kind::other: return {{238, 239, 243}, {160, 166, 182}};
        case Kind::sum: return {{255, 255, 255}, {84, 92, 112}};
    }
    return {};
}

TextExtent extent(const std::string& text, const TextStyle& style) { return TextRaster::shared().measure(text, style); }

/// Boxes of a section on levels: each below all that it reads. Box −1 is level 0.
class SectionLayout {
public:
    explicit SectionLayout(const FlowSection& section) : section_(section), levels_(section.boxes.size(), 1) {
        const int count = static_cast<int>(section.boxes.size());
        for (const FlowEdge& edge : section.edges) {
            const bool known = edge.from >= -1 && edge.from < count && edge.to >= -1 && edge.to < count;
            if (!known || (edge.to >= 0 && edge.from >= edge.to))
                throw usage_error("flow chart: an edge from box {} to box {} of {}", edge.from, edge.to, count);
            if (edge.to >= 0)
                levels_[static_cast<std::size_t>(edge.to)] = std::max(level(edge.to), level(edge.from) + 1);
        }
        sink_sources();
        for (int i = 0; i < count; ++i) last_ = std::max(last_, level(i));
        place_boxes();
        for (const FlowEdge& edge : section.edges)
            if (bottom_level(edge) > level(edge.from) + 1) add_lane(edge);
    }

    int width() const { return 2 * (half_ + lane_gap * most_lanes()) + 2 * frame_margin; }
    int height() const { return (last_ + 1) * level_gap + last_ * box_height; }
    /// Relative to the middle of the section and its top.
    Rect box(int i) const { return boxes_[static_cast<std::size_t>(i)]; }
    int level(int i) const { return i < 0 ? 0 : levels_[static_cast<std::size_t>(i)]; }
    int bottom_level(const FlowEdge& edge) const { return edge.to < 0 ? last_ + 1 : level(edge.to); }
    /// x of the vertical line beside the boxes that a long edge takes; nothing for edges between neighbours.
    std::optional<int> lane(const FlowEdge& edge) const {
        const auto found = lanes_.find({edge.from, edge.to});
        if (found == lanes_.end()) return std::nullopt;
        const int away = half_ + lane_gap * (std::abs(found->second));
        return found->second < 0 ? -away : away;
    }

private:
    /// Boxes that read nothing stand right above those that read them.
    void sink_sources() {
        for (int i = static_cast<int>(section_.boxes.size()) - 1; i >= 0; --i) {
            int below = 1 << 20;
            bool reads = false;
            for (const FlowEdge& edge : section_.edges) {
                reads = reads || edge.to == i;
                if (edge.from == i && edge.to >= 0) below = std::min(below, level(edge.to));
            }
            if (!reads && below < 1 << 20) levels_[static_cast<std::size_t>(i)] = std::max(1, below - 1);
        }
    }

    int box_width(const FlowBox& box) const {
        if (box.kind == FlowBox::Kind::sum) return sum_size;
        return std::max({min_box, extent(box.title, box_title).width + 24, extent(box.note, box_note).width + 20});
    }

    void place_boxes() {
        boxes_.resize(section_.boxes.size());
        for (int at_level = 1; at_level <= last_; ++at_level) {
            std::vector<int> row;
            for (int i = 0; i < std::ssize(section_.boxes); ++i)
                if (level(i) == at_level) row.push_back(i);
            std::ranges::stable_sort(row, {}, [&](int i) { return std::pair(middle_of_read(i), first_reading(i)); });
            int width = -box_gap;
            for (const int i : row) width += box_width(section_.boxes[static_cast<std::size_t>(i)]) + box_gap;
            const int y = at_level * level_gap + (at_level - 1) * box_height;
            // a box alone stands below the only one that it reads
            int x = row.size() == 1 ? middle_of_only(row.front()) - width / 2 : -width / 2;
            for (const int i : row) {
                const FlowBox& box = section_.boxes[static_cast<std::size_t>(i)];
                const bool sum = box.kind == FlowBox::Kind::sum;
                boxes_[static_cast<std::size_t>(i)] = {x, sum ? y + (box_height - sum_size) / 2 : y, box_width(box),
                                                       sum ? sum_size : box_height};
                half_ = std::max({half_, -x, x + box_width(box)});
                x += box_width(box) + box_gap;
            }
        }
    }
    double middle_of_read(int i) const {
        double sum = 0, count = 0;
        for (const FlowEdge& edge : section_.edges)
            if (edge.to == i && edge.from >= 0) sum += middle(edge.from), ++count;
        return count > 0 ? sum / count : 0;
    }
    /// Which edge is the first that leaves a box: what one box reads stands in the order in which it is read.
    std::ptrdiff_t first_reading(int i) const {
        return std::ranges::find(section_.edges, i, &FlowEdge::from) - section_.edges.begin();
    }
    int middle_of_only(int i) const {
        int only = 0, count = 0, readers = 0;
        for (const FlowEdge& edge : section_.edges)
            if (edge.to == i) only = edge.from, ++count;
        for (const FlowEdge& edge : section_.edges) readers += edge.from == only ? 1 : 0;
        return count == 1 && only >= 0 && readers == 1 ? middle(only) : 0;
    }
    int middle(int i) const { return i < 0 ? 0 : box(i).x + box(i).width / 2; }

    /// Lanes −1, −2 … are left, 1, 2 … right. Edges of the same source share one; others where they do not overlap.
    void add_lane(const FlowEdge& edge) {
        const bool right = middle(edge.from) > 0;
        for (int number = 1;; ++number) {
            const int lane = right ? number : -number;
            const bool taken = std::ranges::any_of(section_.edges, [&](const FlowEdge& other) {
                const auto found = lanes_.find({other.from, other.to});
                return found != lanes_.end() && found->second == lane && other.from != edge.from &&
                       level(other.from) < bottom_level(edge) && level(edge.from) < bottom_level(other);
            });
            if (taken) continue;
            lanes_[{edge.from, edge.to}] = lane;
            return;
        }
    }
    /// On one side.
    int most_lanes() const {
        int most = 0;
        for (const auto& [edge, lane] : lanes_) most = std::max(most, std::abs(lane));
        return most;
    }

    const FlowSection& section_;
    std::vector<int> levels_;
    std::vector<Rect> boxes_;
    std::map<std::pair<int, int>, int> lanes_;
    int last_ = 0, half_ = min_box / 2;
};

class FlowPainter {
public:
    FlowPainter(const FlowChart& chart, FlowLayout& layout) : chart_(chart), layout_(layout) {
        layout_ = {};
        drawing_.background = paper;
    }

    Drawing draw() {
        int y = page_margin + extent("", title_style).ascent, x = page_margin;
        write({page_margin, y}, chart_.title, title_style);
        y += 24;
        write({page_margin, y}, chart_.caption, caption_style);
        const int top = y + (chart_.columns.empty() || chart_.columns.front().title.empty() ? 0 : 26);
        drawing_.width =
            std::max(extent(chart_.title, title_style).width, extent(chart_.caption, caption_style).width) +
            2 * page_margin;
        int all = -column_gap;
        for (const FlowColumn& column : chart_.columns) all += column_width_of(column) + column_gap;
        x = std::max(x, (drawing_.width - all) / 2);
        for (const FlowColumn& column : chart_.columns) {
            const int width = column_width_of(column);
            lefts_.push_back(x);
            draw_column(column, x + width / 2, width, top);
            x += width + column_gap;
        }
        drawing_.width = std::max(drawing_.width, x - column_gap + page_margin);
        draw_links();
        return std::move(drawing_);
    }

private:
    template <class Shape>
    void add(Shape shape) {
        drawing_.shapes.push_back(std::move(shape));
    }
    void write(Point at, const std::string& text, const TextStyle& style) {
        if (text.empty()) return;
        const TextExtent size = extent(text, style);
        layout_.texts.push_back({text, {at.x, at.y - size.ascent, size.width, size.height()}});
        add(DrawnText{at, text, style});
    }
    void line(double x0, double y0, double x1, double y1, Rgb colour) { add(DrawnLine{x0, y0, x1, y1, colour, 1.5}); }
    void arrow_down(double x, double y, Rgb colour) {
        line(x - arrow, y - arrow - 1, x, y, colour), line(x + arrow, y - arrow - 1, x, y, colour);
    }

    /// `from`: −1 comes from the left, 1 from the right.
    void arrow_across(double x, double y, int from, Rgb colour) {
        const double back = x + from * (arrow + 1);
        line(back, y - arrow, x, y, colour), line(back, y + arrow, x, y, colour);
    }

    int column_width_of(const FlowColumn& column) const {
        int width = extent(column.title, frame_label).width;
        for (const FlowSection& section : column.sections) {
            const SectionLayout placed(section);
            // of a framed section also its name, beside the arrow that enters
            width = std::max(width, placed.width());
        }
        return width;
    }

    void draw_column(const FlowColumn& column, int middle, int width, int y) {
        write({middle - extent(column.title, frame_label).width / 2, y}, column.title, frame_label);
        y += column.title.empty() ? 0 : 10;
        std::vector<std::vector<Rect>>& sections = placed_.emplace_back();
        for (std::size_t i = 0; i < column.sections.size(); ++i) {
            const FlowSection& section = column.sections[i];
            const SectionLayout placed(section);
            std::vector<Rect>& boxes = sections.emplace_back();
            int inner = y;
            if (section.times > 0) {
                const int label = extent("", frame_label).height() + 8;
                const Rect box{middle - width / 2, y, width, placed.height() + label};
                add(DrawnBox{box, frame_line}), add(DrawnBox{box.grown(-1), frame_fill});
                const int baseline = y + extent("", frame_label).ascent + 5;
                write({box.x + 10, baseline}, section.name, frame_label);
                const std::string times = format("× {}", section.times);
                if (section.times > 1)
                    write({box.right() - 10 - extent(times, frame_label).width, baseline}, times, frame_label);
                inner += label;
                if (i > 0) line(middle, y, middle, inner, residual_colour);
            }
            for (int b = 0; b < std::ssize(section.boxes); ++b) {
                const Rect box = placed.box(b);
                boxes.push_back({box.x + middle, box.y + inner, box.width, box.height});
                layout_.boxes.push_back(boxes.back());
            }
            draw_edges(section, placed, boxes, middle, inner);
            for (std::size_t b = 0; b < section.boxes.size(); ++b) draw_box(section.boxes[b], boxes[b]);
            y = inner + placed.height();
        }
        drawing_.height = std::max(drawing_.height, y + page_margin);
    }

    void draw_box(const FlowBox& box, const Rect& at) {
        const BoxColours colours = colours_of(box.kind);
        const int x = at.x + at.width / 2;
        if (box.kind == FlowBox::Kind::sum) {
            const double middle = at.y + at.height / 2.0, radius = at.width / 2.0;
            add(DrawnDisc{static_cast<double>(x), middle, radius, colours.fill});
            add(DrawnDisc{static_cast<double>(x), middle, radius, colours.line, 1.5});
            line(x - 5, middle, x + 5, middle, colours.line), line(x, middle - 5, x, middle + 5, colours.line);
            return;
        }
        add(DrawnBox{at, colours.line}), add(DrawnBox{at.grown(-1), colours.fill});
        const int first = box.note.empty() ? at.y + 25 : at.y + 17;
        write({x - extent(box.title, box_title).width / 2, first}, box.title, box_title);
        write({x - extent(box.note, box_note).width / 2, at.y + 32}, box.note, box_note);
    }

    /// Where an edge enters a box: spread over its width in the order of what it reads.
    static double port(const FlowSection& section, const SectionLayout& placed, const Rect& box, const FlowEdge& edge) {
        std::vector<const FlowEdge*> ending;
        for (const FlowEdge& other : section.edges)
            if (other.to == edge.to && !placed.lane(other)) ending.push_back(&other);
        const auto x_of = [&](const FlowEdge* one) { return one->from < 0 ? 0 : placed.box(one->from).x; };
        std::ranges::stable_sort(ending, {}, x_of);
        const auto place = std::ranges::find(ending, &edge) - ending.begin();
        return box.x + box.width * (static_cast<double>(place) + 1) / (static_cast<double>(ending.size()) + 1);
    }

    void draw_edges(const FlowSection& section, const SectionLayout& placed, const std::vector<Rect>& boxes, int middle,
                    int top) {
        const int bottom = top + placed.height();
        std::map<int, std::vector<std::string>> told;  // labels that stand below a box
        std::vector<Rect> beside;                      // where labels of lanes stand
        for (const FlowEdge& edge : section.edges) {
            const Rect from = edge.from < 0 ? Rect{middle, top, 0, 0} : boxes[static_cast<std::size_t>(edge.from)];
            const Rect to = edge.to < 0 ? Rect{middle, bottom, 0, 0} : boxes[static_cast<std::size_t>(edge.to)];
            const double x0 = from.x + from.width / 2.0, y0 = from.bottom();
            std::vector<std::string>& labels = told[edge.from];
            const bool new_label = std::ranges::count(labels, edge.label) == 0;
            if (new_label) labels.push_back(edge.label);
            if (const std::optional<int> lane = placed.lane(edge)) {
                const bool residual =
                    edge.to >= 0 && section.boxes[static_cast<std::size_t>(edge.to)].kind == FlowBox::Kind::sum;
                const Rgb colour = residual ? residual_colour : line_colour;
                const double x = middle + *lane, turn = y0 + 8;
                const double enter = edge.to < 0 ? bottom - 8 : to.y + to.height / 2.0;
                const double end = edge.to < 0 ? middle : *lane < 0 ? to.x : to.right();
                line(x0, y0, x0, turn, colour), line(x0, turn, x, turn, colour), line(x, turn, x, enter, colour);
                line(x, enter, end, enter, colour);
                if (edge.to >= 0) arrow_across(end, enter, *lane < 0 ? -1 : 1, colour);
                if (new_label && edge.from >= 0) {
                    const int wide = extent(edge.label, edge_label).width, high = extent("", edge_label).height();
                    Rect place{static_cast<int>(x) + (*lane < 0 ? 4 : -4 - wide), static_cast<int>(turn) + 14, wide,
                               high};
                    const auto taken = [&](const Rect& other) {
                        return place.x < other.right() && other.x < place.right() && std::abs(place.y - other.y) < high;
                    };
                    while (std::ranges::any_of(beside, taken)) place.y += high;  // of lanes side by side
                    beside.push_back(place);
                    write({place.x, place.y}, edge.label, edge_label);
                }
                continue;
            }
            const double x1 = edge.to < 0 ? middle : port(section, placed, to, edge), y1 = to.y;
            line(x0, y0, x1, y1, line_colour);
            if (edge.to >= 0) arrow_down(x1, y1, line_colour);
            if (new_label)
                write({static_cast<int>((x0 + x1) / 2) + 6, static_cast<int>((y0 + y1) / 2) + 5}, edge.label,
                      edge_label);
        }
    }

    int left_of_column(int column) const { return at(lefts_, column); }
    void draw_links() {
        for (const FlowLink& link : chart_.links) {
            const auto box = [&](const FlowLink::End& end) {
                return at(at(at(placed_, end.column), end.section), end.box);
            };
            const Rect from = box(link.from), to = box(link.to);
            // from below a box, between the columns, to the top of the other
            const double x0 = from.x + from.width / 2.0, x1 = to.x + to.width / 2.0, below = from.bottom() + 14.0,
                         above = to.y - 8.0, between = left_of_column(link.to.column) - column_gap / 2.0;
            line(x0, from.bottom(), x0, below, link_colour), line(x0, below, between, below, link_colour);
            line(between, below, between, above, link_colour), line(between, above, x1, above, link_colour);
            line(x1, above, x1, to.y, link_colour), arrow_down(x1, to.y, link_colour);
        }
    }

    const FlowChart& chart_;
    FlowLayout& layout_;
    Drawing drawing_;
    std::vector<int> lefts_;                              // of the columns
    std::vector<std::vector<std::vector<Rect>>> placed_;  // boxes by column and section
};

}  // namespace

Drawing draw_flow_chart(const FlowChart& chart, FlowLayout* layout) {
    FlowLayout own;
    return FlowPainter(chart, layout == nullptr ? own : *layout).draw();
}

}  // namespace vantage::internal
