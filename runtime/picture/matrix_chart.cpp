#include "runtime/picture/matrix_chart.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/picture/colour_map.h"

namespace vantage::internal {

namespace {

constexpr int widest_map = 900, highest_map = 420, largest_matrix_cell = 26, mark_room = 58, name_room = 26,
              bar_width = 14, bar_room = 80, below_title = 12, below_map = 50, max_cells = 2048;
constexpr TextStyle matrix_title{14, style::strong, TextWeight::bold};

int cell_size(int count, int room) { return std::clamp(room / std::max(count, 1), 1, largest_matrix_cell); }

class MatrixPainter {
public:
    MatrixPainter(const MatrixChart& chart, MatrixLayout& layout) : chart_(chart), layout_(layout) {
        layout_ = {};
        if (chart.panels.empty()) throw usage_error("matrix chart: there is no matrix");
        int width = 460;
        for (const MatrixPanel& panel : chart.panels) {
            if (panel.rows < 1 || panel.columns < 1 || panel.rows > max_cells || panel.columns > max_cells)
                throw usage_error("matrix chart: \"{}\" has {} rows and {} columns; expected 1 to {}", panel.title,
                                  panel.rows, panel.columns, max_cells);
            if (!(panel.maximum > 0) || !std::isfinite(panel.maximum))
                throw usage_error("matrix chart: \"{}\" has a maximum of {:g}; expected a number above 0", panel.title,
                                  panel.maximum);
            width = std::max(width, panel.columns * cell_size(panel.columns, widest_map));
        }
        width_ = style::margin + name_room + mark_room + width + bar_room + style::margin;
        int y = style::margin + style::header_height(chart.title, chart.caption, width_ - 2 * style::margin);
        for (const MatrixPanel& panel : chart.panels) {
            y += style::text_height(matrix_title) + below_title;
            const int height = panel.rows * cell_size(panel.rows, highest_map);
            layout_.maps.push_back({style::margin + name_room + mark_room, y,
                                    panel.columns * cell_size(panel.columns, widest_map), height});
            y += std::max(height, min_bar) + below_map;
        }
        height_ = y + style::margin / 2;
    }

    Image paint() {
        Image image(width_, height_, style::background);
        style::draw_header(image, {style::margin, style::margin}, chart_.title, chart_.caption,
                           width_ - 2 * style::margin, layout_.texts);
        for (std::size_t i = 0; i < chart_.panels.size(); ++i) paint_panel(image, chart_.panels[i], layout_.maps[i]);
        return image;
    }

private:
    static constexpr int min_bar = 90;

    void write(Image& image, Point at, const std::string& text, const TextStyle& style, bool upwards = false) {
        layout_.texts.push_back({text, TextRaster::shared().draw(image, at, text, style, upwards)});
    }
    static int width_of(const std::string& text, const TextStyle& style) {
        return TextRaster::shared().measure(text, style).width;
    }

    void paint_panel(Image& image, const MatrixPanel& panel, const Rect& map) {
        write(image, {map.x, map.y - below_title}, panel.title, matrix_title);
        frame(image, map.grown(1), style::line);
        const int cell_width = map.width / panel.columns, cell_height = map.height / panel.rows;
        for (int row = 0; row < panel.rows; ++row)
            for (int column = 0; column < panel.columns; ++column) {
                const double value = panel.value(row, column);
                const Rgb colour =
                    std::isnan(value)
                        ? style::surface
                        : difference_colour_at(true, static_cast<float>(std::clamp(value / panel.maximum, -1.0, 1.0)));
                fill(image, {map.x + column * cell_width, map.y + row * cell_height, cell_width, cell_height}, colour);
            }
        for (const auto& [row, text] : panel.row_marks) {
            const int y = map.y + row * cell_height + cell_height / 2;
            fill(image, {map.x - 6, y, 5, 1}, style::faint);
            write(image, {map.x - 9 - width_of(text, style::tick), y + 4}, text, style::tick);
        }
        for (const auto& [column, text] : panel.column_marks) {
            const int x = map.x + column * cell_width + cell_width / 2;
            fill(image, {x, map.bottom() + 2, 1, 5}, style::faint);
            const int wanted = x - width_of(text, style::tick) / 2;
            write(image, {std::min(wanted, width_ - width_of(text, style::tick) - 4), map.bottom() + 20}, text,
                  style::tick);
        }
        write(image,
              {map.x + std::max(0, (map.width - width_of(panel.columns_name, style::axis)) / 2), map.bottom() + 38},
              panel.columns_name, style::axis);
        const int middle = map.y + (map.height + width_of(panel.rows_name, style::axis)) / 2;
        write(image,
              {style::margin + style::text_height(style::axis),
               std::max(middle, map.y + width_of(panel.rows_name, style::axis))},
              panel.rows_name, style::axis, true);
        paint_bar(image, panel, {map.right() + 22, map.y, bar_width, std::max(map.height, min_bar)});
    }

    void paint_bar(Image& image, const MatrixPanel& panel, const Rect& bar) {
        for (int y = 0; y < bar.height; ++y) {
            const float position = 1 - 2 * static_cast<float>(y) / static_cast<float>(bar.height - 1);
            fill(image, {bar.x, bar.y + y, bar.width, 1}, difference_colour_at(true, position));
        }
        frame(image, bar.grown(1), style::line);
        const auto mark = [&](double value, int y) {
            write(image, {bar.right() + 7, y}, format("{:.2g}", value), style::tick);
        };
        mark(panel.maximum, bar.y + 8), mark(0, bar.y + bar.height / 2 + 4), mark(-panel.maximum, bar.bottom());
    }

    const MatrixChart& chart_;
    MatrixLayout& layout_;
    int width_ = 0, height_ = 0;
};

}  // namespace

Image draw_matrix_chart(const MatrixChart& chart, MatrixLayout* layout) {
    MatrixLayout own;
    return MatrixPainter(chart, layout == nullptr ? own : *layout).paint();
}

std::vector<std::pair<int, std::string>> round_marks(int cells, int count, int first) {
    const int wanted = std::max(1, cells / std::max(count, 1));
    int step = 1;
    for (int decade = 1; step < wanted; decade *= 10)
        for (const int digit : {1, 2, 5})
            if (step < wanted) step = digit * decade;
    std::vector<std::pair<int, std::string>> marks;
    for (int i = 0; i < cells; ++i)
        if ((i + first) % step == 0) marks.emplace_back(i, std::to_string(i + first));
    return marks;
}

}  // namespace vantage::internal
