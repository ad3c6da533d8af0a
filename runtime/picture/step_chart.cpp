#include "runtime/picture/step_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "runtime/base/errors.h"

namespace vantage::internal {

namespace {

constexpr int step_plot_width = 760, step_axis_room = 64, step_axis_room_below = 30;
constexpr Rgb step_grid{33, 36, 46};
constexpr TextStyle step_panel_title{14, style::strong, TextWeight::bold};

/// Even numbers between two ends: 1, 2 or 5 times a power of ten apart.
std::vector<double> even_numbers(double from, double to, int most) {
    double each = std::pow(10, std::floor(std::log10(std::max(to - from, 1e-300))));
    for (const double factor : {0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0})
        if ((to - from) / (each * factor) <= most) {
            each *= factor;
            break;
        }
    const double first = std::ceil(from / each - 1e-9);
    std::vector<double> all;
    for (int i = 0; i <= most; ++i)  // counted: between neighbouring doubles a sum would stay where it is
        if (const double x = (first + i) * each; x <= to + each * 1e-9)
            all.push_back(std::abs(x) < each * 1e-6 ? 0 : x);
    return all;
}

// The others are gaps. Their sums and powers would overflow.
bool is_drawn(double value) { return std::abs(value) <= std::numeric_limits<float>::max(); }

class StepPainter {
public:
    explicit StepPainter(const StepChart& chart) : chart_(chart) {
        if (chart.panels.empty()) throw usage_error("chart: no panels");
        for (const StepPanel& panel : chart.panels)
            for (const StepCurve& curve : panel.curves) {
                if (curve.steps.size() != curve.values.size())
                    throw usage_error("chart: \"{}\" has {} steps, but {} values", curve.name, curve.steps.size(),
                                      curve.values.size());
                for (const double step : curve.steps) last_step_ = std::max(last_step_, step);
            }
        drawing_.background = style::background;
        drawing_.width = 2 * style::margin + step_axis_room + step_plot_width;
    }

    Drawing draw() {
        int y = style::margin;
        for (const auto& [text, text_style] : {std::pair{chart_.title, style::title}, {chart_.caption, style::caption}})
            for (const std::string& line : style::wrapped(text, text_style, drawing_.width - 2 * style::margin)) {
                const TextExtent size = TextRaster::shared().measure(line, text_style);
                write({style::margin, y + size.ascent}, line, text_style);
                y += size.height() + 6;
            }
        for (std::size_t i = 0; i < chart_.panels.size(); ++i) {
            const Rect plot{style::margin + step_axis_room, y + 44, step_plot_width, chart_.panels[i].height};
            draw_panel(chart_.panels[i], plot, i + 1 == chart_.panels.size());
            y = plot.bottom() + step_axis_room_below;
        }
        drawing_.height = y + style::margin;
        return std::move(drawing_);
    }

private:
    struct Axis {
        double from = 0, to = 1;
        bool logarithmic = false;
        double share(double value) const {
            const auto place = [&](double x) { return logarithmic ? std::log(std::max(x, from)) : x; };
            return (place(value) - place(from)) / (place(to) - place(from));
        }
    };

    template <class Shape>
    void add(Shape shape) {
        drawing_.shapes.push_back(std::move(shape));
    }
    void write(Point at, const std::string& text, const TextStyle& text_style) { add(DrawnText{at, text, text_style}); }
    static int width_of(const std::string& text, const TextStyle& text_style) {
        return TextRaster::shared().measure(text, text_style).width;
    }
    double x_of(const Rect& plot, double step) const { return plot.x + step / last_step_ * plot.width; }

    static Axis axis_of(const StepPanel& panel) {
        if (panel.is_share) return {0, 1};
        double low = INFINITY, high = -INFINITY;
        for (const StepCurve& curve : panel.curves)
            for (const double value : curve.values)
                if (is_drawn(value) && (static_cast<float>(value) > 0 || !panel.logarithmic))
                    low = std::min(low, value), high = std::max(high, value);
        if (!(low <= high)) return {};
        const double room = high > low ? 0.05 * (high - low) : std::max(1.0, 0.05 * std::abs(high));
        if (!panel.logarithmic) return {low > high / 3 ? low - room : std::min(low, 0.0), high + room};
        return {low / 1.1, high * 1.1, true};
    }

    // The mean of the values that share a column of pixels.
    std::map<int, std::pair<double, int>> columns_of(const StepCurve& curve, const Rect& plot) const {
        std::map<int, std::pair<double, int>> columns;
        for (std::size_t i = 0; i < curve.steps.size(); ++i) {
            if (!is_drawn(curve.values[i])) continue;
            auto& [sum, count] = columns[static_cast<int>(x_of(plot, curve.steps[i]))];
            sum += curve.values[i], ++count;
        }
        return columns;
    }

    void draw_curve(const StepCurve& curve, const Rect& plot, const Axis& axis) {
        double last_x = NAN, last_y = NAN;
        for (const auto& [x, mean] : columns_of(curve, plot)) {
            const double share = std::clamp(axis.share(mean.first / mean.second), 0.0, 1.0),
                         y = plot.bottom() - share * plot.height;
            if (!std::isnan(last_x)) add(DrawnLine{last_x, last_y, double(x), y, curve.colour, 1.6});
            last_x = x, last_y = y;
        }
        if (curve.steps.size() == 1 && !std::isnan(last_x)) add(DrawnDisc{last_x, last_y, 3, curve.colour});
    }

    void draw_panel(const StepPanel& panel, const Rect& plot, bool last) {
        const Axis axis = axis_of(panel);
        write({plot.x, plot.y - 14}, panel.title, step_panel_title);
        int x = plot.x + width_of(panel.title, step_panel_title) + 24;
        for (const StepCurve& curve : panel.curves) {
            if (curve.name.empty()) continue;
            add(DrawnBox{{x, plot.y - 24, 11, 11}, curve.colour});
            write({x + 16, plot.y - 14}, curve.name, style::caption);
            x += 16 + width_of(curve.name, style::caption) + 18;
        }
        for (const double value : ticks(axis, plot.height / 45)) {
            const double y = plot.bottom() - axis.share(value) * plot.height;
            add(DrawnLine{double(plot.x), y, double(plot.right()), y, step_grid, 1});
            const std::string text = format("{:.3g}", value);
            write({plot.x - 8 - width_of(text, style::tick), static_cast<int>(y) + 4}, text, style::tick);
        }
        add(DrawnLine{double(plot.x), double(plot.bottom()), double(plot.right()), double(plot.bottom()), style::line,
                      1});
        for (const double step : even_numbers(0, last_step_, 8)) {
            const std::string text = format("{:.0f}", step);
            write({static_cast<int>(x_of(plot, step)) - width_of(text, style::tick) / 2, plot.bottom() + 18}, text,
                  style::tick);
        }
        for (const StepCurve& curve : panel.curves) draw_curve(curve, plot, axis);
        if (last) write({plot.right() - width_of("step", style::axis), plot.bottom() + 38}, "step", style::axis);
    }

    static std::vector<double> ticks(const Axis& axis, int most) {
        if (!axis.logarithmic || axis.to / axis.from < 20) return even_numbers(axis.from, axis.to, most);
        std::vector<double> powers;
        for (double x = std::pow(10, std::ceil(std::log10(axis.from))); x <= axis.to; x *= 10) powers.push_back(x);
        return powers;
    }

    const StepChart& chart_;
    Drawing drawing_;
    double last_step_ = 1;
};

}  // namespace

Drawing draw_step_chart(const StepChart& chart) { return StepPainter(chart).draw(); }

}  // namespace vantage::internal
