#include "runtime/picture/layer_chart.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"

namespace vantage::internal {

namespace {

constexpr int plot_width = 330, plot_height = 220, axis_room = 46, between = 30, mark_size = 11, steps = 4;
constexpr Rgb grid{33, 36, 46}, dot_colour{105, 113, 135};
constexpr TextStyle panel_title{14, style::strong, TextWeight::bold};

class LayerPainter {
public:
    LayerPainter(const LayerChart& chart, LayerChartLayout& layout) : chart_(chart), layout_(layout) {
        layout_ = {};
        check();
        drawing_.background = style::background;
        drawing_.width = 2 * style::margin + static_cast<int>(chart.panels.size()) * (axis_room + plot_width + between);
    }

    Drawing draw() {
        int y = style::margin;
        for (const auto& [text, text_style] : {std::pair{chart_.title, style::title}, {chart_.caption, style::caption}})
            for (const std::string& line : style::wrapped(text, text_style, drawing_.width - 2 * style::margin)) {
                write({style::margin, y + measure(line, text_style).ascent}, line, text_style);
                y += measure(line, text_style).height() + 6;
            }
        const int top = y + style::text_height(panel_title) + 16;
        int bottom = 0;
        for (std::size_t i = 0; i < chart_.panels.size(); ++i) {
            const int x = style::margin + axis_room + static_cast<int>(i) * (axis_room + plot_width + between);
            layout_.plots.push_back({x, top, plot_width, plot_height});
            bottom = std::max(bottom, draw_panel(chart_.panels[i], layout_.plots.back()));
        }
        drawing_.height = bottom + style::margin;
        return std::move(drawing_);
    }

private:
    void check() const {
        const std::size_t layers = chart_.layers.size();
        for (const LayerPanel& panel : chart_.panels) {
            if (!(panel.maximum > panel.minimum) || !std::isfinite(panel.maximum - panel.minimum))
                throw usage_error("chart: the axis of \"{}\" goes from {:g} to {:g}", panel.title, panel.minimum,
                                  panel.maximum);
            bool fits = panel.dots.empty() || panel.dots.size() == layers;
            for (const auto* series : {&panel.lines, &panel.stacks})
                fits = fits && std::ranges::all_of(*series, [&](const auto& s) { return s.values.size() == layers; });
            if (!fits) throw usage_error("chart: \"{}\" has other layers than {}", panel.title, layers);
        }
        if (layers == 0 || chart_.panels.empty()) throw usage_error("chart: no layers");
    }

    template <class Shape>
    void add(Shape shape) {
        drawing_.shapes.push_back(std::move(shape));
    }
    static TextExtent measure(const std::string& text, const TextStyle& style) {
        return TextRaster::shared().measure(text, style);
    }
    void write(Point at, const std::string& text, const TextStyle& style) {
        const TextExtent size = measure(text, style);
        layout_.texts.push_back({text, {at.x, at.y - size.ascent, size.width, size.height()}});
        add(DrawnText{at, text, style});
    }

    double step(const Rect& plot) const { return plot.width / static_cast<double>(chart_.layers.size()); }
    double x_of(const Rect& plot, std::size_t layer) const {
        return plot.x + step(plot) * (static_cast<double>(layer) + 0.5);
    }
    static double y_of(const LayerPanel& panel, const Rect& plot, double value) {
        const double share = std::clamp((value - panel.minimum) / (panel.maximum - panel.minimum), 0.0, 1.0);
        return plot.bottom() - share * plot.height;
    }

    void draw_axes(const LayerPanel& panel, const Rect& plot) {
        write({plot.x, plot.y - 14}, panel.title, panel_title);
        for (int i = 0; i <= steps; ++i) {
            const double value = panel.minimum + i * (panel.maximum - panel.minimum) / steps,
                         y = y_of(panel, plot, value);
            add(DrawnLine{static_cast<double>(plot.x), y, static_cast<double>(plot.right()), y,
                          i == 0 ? style::line : grid, 1});
            const std::string text = format("{:.3g}", value);
            write({plot.x - 8 - measure(text, style::tick).width, static_cast<int>(y) + 4}, text, style::tick);
        }
        int widest = 0;
        for (const std::string& name : chart_.layers) widest = std::max(widest, measure(name, style::tick).width);
        const auto every = static_cast<std::size_t>(std::ceil((widest + 6) / step(plot)));
        for (std::size_t i = 0; i < chart_.layers.size(); i += every)
            write({static_cast<int>(x_of(plot, i)) - measure(chart_.layers[i], style::tick).width / 2,
                   plot.bottom() + 20},
                  chart_.layers[i], style::tick);
        write({plot.right() - measure("layer", style::axis).width, plot.bottom() + 42}, "layer", style::axis);
    }

    void draw_stacks(const LayerPanel& panel, const Rect& plot) {
        const double width = step(plot) * 0.8;
        for (std::size_t i = 0; i < chart_.layers.size(); ++i) {
            double sum = 0;
            for (const LayerSeries& series : panel.stacks) {
                const double y = y_of(panel, plot, sum + series.values[i]), below = y_of(panel, plot, sum);
                sum += series.values[i];
                const int x = static_cast<int>(x_of(plot, i) - width / 2), top = static_cast<int>(std::lround(y));
                add(DrawnBox{{x, top, std::max(1, static_cast<int>(width)), static_cast<int>(std::lround(below)) - top},
                             series.colour});
            }
        }
    }

    void draw_lines(const LayerPanel& panel, const Rect& plot) {
        for (const LayerSeries& series : panel.lines)
            for (std::size_t i = 0; i < series.values.size(); ++i) {
                if (std::isnan(series.values[i])) continue;
                const double x = x_of(plot, i), y = y_of(panel, plot, series.values[i]);
                if (i > 0 && !std::isnan(series.values[i - 1]))
                    add(DrawnLine{x_of(plot, i - 1), y_of(panel, plot, series.values[i - 1]), x, y, series.colour, 2});
                add(DrawnDisc{x, y, 3.5, series.colour});
            }
    }

    /// Returns where the panel ends.
    int draw_panel(const LayerPanel& panel, const Rect& plot) {
        draw_axes(panel, plot);
        draw_stacks(panel, plot);
        for (std::size_t i = 0; i < panel.dots.size(); ++i)
            for (const double value : panel.dots[i])
                if (!std::isnan(value)) add(DrawnDisc{x_of(plot, i), y_of(panel, plot, value), 2.5, dot_colour});
        draw_lines(panel, plot);
        return draw_key(panel, plot);
    }

    int draw_key(const LayerPanel& panel, const Rect& plot) {
        const int height = style::text_height(style::caption) + style::gap;
        int x = plot.x, y = plot.bottom() + 66;
        const auto entry = [&](const std::string& name, Rgb colour) {
            const int width = mark_size + 5 + measure(name, style::caption).width + 16;
            if (x > plot.x && x + width > plot.right() + between) x = plot.x, y += height;
            add(DrawnBox{{x, y - mark_size + 1, mark_size, mark_size}, colour});
            write({x + mark_size + 5, y}, name, style::caption);
            x += width;
        };
        for (const auto* all : {&panel.lines, &panel.stacks})
            for (const LayerSeries& series : *all)
                if (!series.name.empty()) entry(series.name, series.colour);
        if (!panel.dots.empty()) entry("one head", dot_colour);
        return y + height;
    }

    const LayerChart& chart_;
    LayerChartLayout& layout_;
    Drawing drawing_;
};

}  // namespace

double round_up(double value) {
    if (!(value > 0) || !std::isfinite(value)) return 1;
    const double decade = std::pow(10, std::floor(std::log10(value)));
    for (const double digit : {1.0, 2.0, 5.0})
        if (digit * decade >= value) return digit * decade;
    return 10 * decade;
}

Drawing draw_layer_chart(const LayerChart& chart, LayerChartLayout* layout) {
    LayerChartLayout own;
    return LayerPainter(chart, layout == nullptr ? own : *layout).draw();
}

}  // namespace vantage::internal
