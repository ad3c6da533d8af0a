#include "runtime/bench/roofline_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "runtime/base/at.h"
#include "runtime/base/format.h"

namespace vantage::internal {

namespace {

constexpr int picture_width = 1440, picture_height = 900, left = 86, right = 210, below = 70;
constexpr int chosen_radius = 5, other_radius = 4;
constexpr TextStyle point_label{11, style::ink, TextWeight::regular};
constexpr TextStyle faint_label{11, style::faint, TextWeight::regular};
constexpr TextStyle roof_label{12, style::strong, TextWeight::bold};
constexpr Rgb grid{33, 36, 46}, roof_colour{150, 160, 185};

/// Distinct in hue and similar in lightness on the dark background (Okabe & Ito 2008, lightened).
constexpr std::array<Rgb, 11> op_colours{{{86, 180, 233},
                                          {255, 176, 59},
                                          {60, 200, 160},
                                          {213, 94, 94},
                                          {190, 160, 255},
                                          {240, 228, 120},
                                          {226, 130, 190},
                                          {120, 150, 255},
                                          {160, 210, 90},
                                          {100, 220, 235},
                                          {230, 150, 110}}};
constexpr Rgb other_ops{142, 149, 168};

std::string power_of_ten(int power, const char* unit) {
    static constexpr std::array<const char*, 3> prefixes{"", " k", " M"};
    if (power < 0) return format("{:.{}f}", std::pow(10, power), -power);
    if (*unit == 'T' && power >= 3) return format("{:.0f} T", std::pow(10, power - 3));
    const int thousands = std::min(power / 3, 2);
    return format("{:.0f}{}", std::pow(10, power - 3 * thousands), at(prefixes, thousands));
}

TextExtent extent(const std::string& text, const TextStyle& style) { return TextRaster::shared().measure(text, style); }

class RooflinePainter {
public:
    RooflinePainter(const Roofline& roofline, RooflineLayout& layout) : roofline_(roofline), layout_(layout) {
        layout_ = {};
        drawing_ = {.width = picture_width, .height = picture_height, .background = style::background, .shapes = {}};
        const int top = style::margin + style::header_height(roofline.title, roofline.caption, text_width());
        layout_.plot = {left, top, picture_width - left - right, picture_height - top - below};
        choose_range();
        choose_colours();
    }

    Drawing draw() {
        draw_header();
        draw_axes();
        for (const RooflinePoint& point : roofline_.points) layout_.markers.push_back(marker_of(point));
        draw_roofs();
        for (const bool chosen : {false, true})  // chosen kernels are drawn on top
            for (const RooflinePoint& point : roofline_.points)
                if (point.chosen == chosen) draw_point(point);
        label_points();
        draw_key();
        return std::move(drawing_);
    }

private:
    static int text_width() { return picture_width - 2 * style::margin; }

    template <class Shape>
    void add(Shape shape) {
        drawing_.shapes.push_back(std::move(shape));
    }
    void write(Point at, const std::string& text, const TextStyle& style) { add(DrawnText{at, text, style}); }

    // Whole decades around all points and roofs, with space to the right of the ridge of the highest roof.
    void choose_range() {
        double min_x = 0.1, max_x = 10, min_y = 1e9, max_y = 1, max_memory = 1;
        for (const RooflinePoint& p : roofline_.points) {
            min_x = std::min(min_x, p.intensity), max_x = std::max(max_x, p.intensity);
            min_y = std::min(min_y, p.gflops), max_y = std::max(max_y, p.gflops);
        }
        for (const RooflineRoof& r : roofline_.roofs)
            (r.memory ? max_memory : max_y) = std::max(r.memory ? max_memory : max_y, r.rate);
        constexpr double edge = 1.3;  // keeps points off the frame
        min_x /= edge, max_x *= edge;
        min_y = std::min(min_y / edge, max_y / 100);
        layout_.low_x = std::floor(std::log10(min_x));
        layout_.high_x = std::ceil(std::log10(std::max(max_x, 10 * max_y / max_memory)));
        layout_.low_y = std::floor(std::log10(min_y));
        layout_.high_y = std::floor(std::log10(1.5 * max_y)) + 1;
    }

    // The ops with the most points get their own colours.
    void choose_colours() {
        std::map<std::string, int> counts;
        for (const RooflinePoint& point : roofline_.points) ++counts[point.op];
        for (const auto& [op, count] : counts) ops_.push_back(op);
        std::ranges::stable_sort(ops_, std::greater<>(), [&](const std::string& op) { return counts[op]; });
    }
    Rgb colour_of(const std::string& op) const {
        const auto i = static_cast<std::size_t>(std::ranges::find(ops_, op) - ops_.begin());
        return i < op_colours.size() ? op_colours[i] : other_ops;
    }

    void draw_header() {
        int y = style::margin;
        for (const auto& [text, text_style] :
             {std::pair{roofline_.title, style::title}, {roofline_.caption, style::caption}}) {
            for (const std::string& line : style::wrapped(text, text_style, text_width())) {
                const TextExtent size = extent(line, text_style);
                write({style::margin, y + size.ascent}, line, text_style);
                y += size.height() + 6;
            }
            y += 6;
        }
    }

    void draw_axes() {
        const Rect& plot = layout_.plot;
        const auto each = [](double low, double high, const auto& mark) {
            for (int power = static_cast<int>(low); power <= static_cast<int>(high); ++power)
                for (int digit = 1; digit < 10 && (digit == 1 || power < static_cast<int>(high)); ++digit)
                    mark(power, digit, digit * std::pow(10, power));
        };
        each(layout_.low_x, layout_.high_x, [&](int power, int digit, double value) {
            const double x = layout_.x_of(value);
            add(DrawnLine{x, static_cast<double>(plot.y), x, static_cast<double>(plot.bottom()),
                          digit == 1 ? style::line : grid, 1});
            if (digit > 1) return;
            const std::string text = power_of_ten(power, "");
            write({static_cast<int>(x) - extent(text, style::tick).width / 2, plot.bottom() + 20}, text, style::tick);
        });
        each(layout_.low_y, layout_.high_y, [&](int power, int digit, double value) {
            const double y = layout_.y_of(value);
            add(DrawnLine{static_cast<double>(plot.x), y, static_cast<double>(plot.right()), y,
                          digit == 1 ? style::line : grid, 1});
            if (digit > 1) return;
            const std::string text = power_of_ten(power, "T");
            write({plot.x - 10 - extent(text, style::tick).width, static_cast<int>(y) + 4}, text, style::tick);
        });
        const std::string across = "arithmetic intensity (FLOP/byte)", up = "GFLOP/s";
        write({plot.x + (plot.width - extent(across, style::axis).width) / 2, plot.bottom() + 46}, across, style::axis);
        add(DrawnText{
            {style::margin + 4, plot.y + (plot.height + extent(up, style::axis).width) / 2}, up, style::axis, true});
    }

    // Memory's roofs rise to the highest of arithmetic; those of arithmetic begin where the highest of memory meets
    // them.
    void draw_roofs() {
        double max_memory = 0, max_arithmetic = 0;
        for (const RooflineRoof& r : roofline_.roofs)
            (r.memory ? max_memory : max_arithmetic) = std::max(r.memory ? max_memory : max_arithmetic, r.rate);
        if (max_memory == 0 || max_arithmetic == 0) return;
        for (const RooflineRoof& r : roofline_.roofs) {
            const double low = std::max(std::pow(10, layout_.low_x), std::pow(10, layout_.low_y) / r.rate);
            const double from = r.memory ? low : r.rate / max_memory;
            const double to = r.memory ? max_arithmetic / r.rate : std::pow(10, layout_.high_x);
            const auto height = [&](double x) { return layout_.y_of(r.memory ? r.rate * x : r.rate); };
            add(DrawnLine{layout_.x_of(from), height(from), layout_.x_of(to), height(to), roof_colour, 2});
            label_roof(r, r.rate == max_memory, layout_.x_of(from), height(from), layout_.x_of(to), height(to));
        }
    }

    // Above the highest line that rises, below the others; above the right end of a level one. Where another name, a
    // point or another level line is, further up or to the left, or below; with so many lines that there is no such
    // place, upon a line.
    void label_roof(const RooflineRoof& r, bool above, double x0, double y0, double x1, double y1) {
        const std::string text = r.name + "  " + short_number(r.rate) + (r.memory ? " GB/s" : " GFLOP/s");
        const TextExtent size = extent(text, roof_label);
        const auto place = [&](double along, bool under) {
            const int x = static_cast<int>(r.memory ? x0 + along * (x1 - x0) : x1 - (along - 0.12) * (x1 - x0));
            const int y = static_cast<int>(r.memory ? y0 + along * (y1 - y0) : y1);
            if (!r.memory)
                return Rect{x - size.width - 8, under ? y + 5 : y - 7 - size.ascent, size.width, size.height()};
            return above ? Rect{x - size.width - 10, y - size.height(), size.width, size.height()}
                         : Rect{x + 10, y, size.width, size.height()};
        };
        const auto is_free = [&](const Rect& box, bool upon_lines) {
            return layout_.plot.contains(box) && !touches(box.grown(2), taken_) &&
                   !touches(box.grown(3), layout_.markers) && (upon_lines || !on_level_line(box));
        };
        for (const auto& [under, upon_lines] : {std::pair{false, false}, {true, false}, {false, true}}) {
            for (double along = 0.12; along < 0.9; along += 0.02) {
                const Rect box = place(along, under);
                if (!is_free(box, upon_lines)) continue;
                taken_.push_back(box.grown(2));
                return write({box.x, box.y + size.ascent}, text, roof_label);
            }
        }
    }

    bool on_level_line(const Rect& box) const {
        return std::ranges::any_of(roofline_.roofs, [&](const RooflineRoof& r) {
            const double y = layout_.y_of(r.rate);
            return !r.memory && y > box.y - 2 && y < box.bottom() + 2;
        });
    }

    Rect marker_of(const RooflinePoint& p) const {
        const int radius = p.chosen ? chosen_radius : other_radius;
        return {static_cast<int>(std::lround(layout_.x_of(p.intensity))) - radius,
                static_cast<int>(std::lround(layout_.y_of(p.gflops))) - radius, 2 * radius, 2 * radius};
    }

    void draw_point(const RooflinePoint& p) {
        const double x = layout_.x_of(p.intensity), y = layout_.y_of(p.gflops);
        if (p.chosen) add(DrawnDisc{x, y, chosen_radius + 1.5, style::background});
        add(DrawnDisc{x, y, static_cast<double>(p.chosen ? chosen_radius : other_radius), colour_of(p.op),
                      p.chosen ? 0 : 1.5});
    }

    static bool touches(const Rect& box, const std::vector<Rect>& others) {
        return std::ranges::any_of(others, [&](const Rect& other) { return box.overlaps(other); });
    }

    // Around each point the first place that is free; points that find none are told by their colour alone. Chosen
    // kernels come first, and among them those that do the most.
    void label_points() {
        std::vector<std::size_t> order(roofline_.points.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) {
            const RooflinePoint& p = roofline_.points[i];
            return std::pair(p.chosen, p.gflops);
        });
        for (const std::size_t i : order) {
            const RooflinePoint& p = roofline_.points[i];
            const bool said = std::ranges::count(layout_.labels, p.label, &style::PlacedText::text) > 0;
            if (p.label.empty() || said) continue;
            const TextExtent size = extent(p.label, point_label);
            if (const auto place = free_place(layout_.markers[i], size)) {
                layout_.labels.push_back({p.label, *place});
                taken_.push_back(place->grown(1));
                write({place->x, place->y + size.ascent}, p.label, p.chosen ? point_label : faint_label);
            }
        }
    }

    std::optional<Rect> free_place(const Rect& marker, const TextExtent& size) const {
        const int w = size.width, h = size.height(), middle = marker.y + marker.height / 2 - h / 2;
        for (const int away : {3, 8}) {
            const int above = marker.y - h - away + 2, under = marker.bottom() + away - 2;
            for (const Point at : {Point{marker.right() + away, middle},
                                   {marker.x - w - away, middle},
                                   {marker.right(), above},
                                   {marker.right(), under},
                                   {marker.x - w, above},
                                   {marker.x - w, under},
                                   {marker.x - w / 2, above},
                                   {marker.x - w / 2, under}}) {
                const Rect box{at.x, at.y, w, h};
                const bool free = layout_.plot.contains(box) && !touches(box, layout_.markers) && !touches(box, taken_);
                if (free) return box;
            }
        }
        return std::nullopt;
    }

    void draw_key() {
        const int x = layout_.plot.right() + 24, line = extent("", style::label).height() + 7;
        int y = layout_.plot.y + 8;
        const auto entry = [&](const std::string& text, Rgb colour, bool full) {
            add(DrawnDisc{x + 5.0, y - 4.5, static_cast<double>(full ? chosen_radius : other_radius), colour,
                          full ? 0 : 1.5});
            write({x + 18, y}, TextRaster::shared().fitted(text, style::label, right - 46), style::label);
            y += line;
        };
        for (std::size_t i = 0; i < std::min(ops_.size(), op_colours.size()); ++i) entry(ops_[i], op_colours[i], true);
        if (ops_.size() > op_colours.size()) entry("other ops", other_ops, true);
        y += line / 2;
        entry("chosen", style::ink, true);
        entry("not chosen", style::ink, false);
    }

    const Roofline& roofline_;
    RooflineLayout& layout_;
    Drawing drawing_;
    std::vector<std::string> ops_;
    std::vector<Rect> taken_;  // by names, with space around them
};

}  // namespace

double RooflineLayout::x_of(double intensity) const {
    return plot.x + plot.width * (std::log10(intensity) - low_x) / (high_x - low_x);
}
double RooflineLayout::y_of(double gflops) const {
    return plot.bottom() - plot.height * (std::log10(gflops) - low_y) / (high_y - low_y);
}

Drawing draw_roofline(const Roofline& roofline, RooflineLayout* layout) {
    RooflineLayout own;
    return RooflinePainter(roofline, layout == nullptr ? own : *layout).draw();
}

void write_roofline(const std::string& path, const Roofline& roofline) {
    write_drawing(path, draw_roofline(roofline), roofline.title);
}

}  // namespace vantage::internal
