#include "runtime/picture/heatmap.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/picture/attention_cells.h"
#include "runtime/picture/axis_labels.h"

namespace vantage::internal {
namespace {

constexpr int default_side = 760;  // pixels of the map, if the number of tokens allows
constexpr int largest_cell = 54, cell_with_gap = 16, cell_with_number = 34;
constexpr int gap_to_labels = 9;

/// Square cells if possible. With few rows, rows are high enough to read; with few columns, columns are wide enough for
/// their labels.
void choose_cells(HeatmapLayout& layout, const HeatmapPicture& picture) {
    const auto side = [](int count) { return std::clamp(default_side / count, 1, largest_cell); };
    const int by_rows = side(layout.weights.rows), by_cols = side(layout.weights.cols);
    layout.cell_width = std::min(by_cols, std::max(by_rows, 20));
    layout.cell_height = std::min(by_rows, std::max(by_cols, 20));
    if (layout.cell_width < largest_cell || picture.col_labels.empty()) return;
    const int wanted = style::make_axis_labels(picture.col_labels, picture.cols, 1, largest_cell).extent() + 12;
    if (wanted <= 2 * largest_cell && wanted * picture.cols <= default_side)
        layout.cell_width = std::max(layout.cell_width, wanted);
}

class Painter {
public:
    Painter(const HeatmapPicture& picture, HeatmapLayout& layout) : picture_(picture), layout_(layout) {
        check_heatmap(picture);
        layout_ = {};
        layout_.weights =
            pool_by_mass(picture.values, picture.rows, picture.cols, max_heatmap_cells, max_heatmap_cells);
        choose_cells(layout_, picture);
        const PooledAttention& weights = layout_.weights;
        row_labels_ =
            style::make_axis_labels(picture.row_labels, weights.rows, weights.row_factor, layout_.cell_height);
        col_labels_ = style::make_axis_labels(picture.col_labels, weights.cols, weights.col_factor, layout_.cell_width);
        upright_ = !col_labels_.thinned() && col_labels_.extent() + 6 <= layout_.cell_width;
        space_ = std::min(layout_.cell_width, layout_.cell_height) >= cell_with_gap ? 1 : 0;
        look_ = {picture.map, picture.scale, picture.value_max, picture.causal, picture.rows, picture.cols};
        bar_ = {picture.map, picture.scale, picture.value_max, any_above(picture.value_max)};
        place();
    }

    Image paint() {
        Image image(layout_.width, layout_.height, style::background);
        style::draw_header(image, {style::margin, style::margin}, picture_.title, picture_.caption, content_width_,
                           layout_.other_texts);
        paint_cells(image);
        paint_row_labels(image);
        paint_col_labels(image);
        paint_axis_titles(image);
        style::draw_colour_bar(image, {layout_.map.right() + style::gap_before_bar, layout_.map.y}, bar_height_, bar_,
                               layout_.other_texts);
        style::draw_notes(image, {layout_.map.x, layout_.map.bottom()}, notes_, notes_width_, layout_.other_texts);
        return image;
    }

private:
    bool any_above(float limit) const {
        return std::ranges::any_of(layout_.weights.values, [limit](float value) { return value > limit * 1.0005f; });
    }

    void place() {
        const TextRaster& raster = TextRaster::shared();
        const int axis_height = raster.measure("", style::axis).height();
        Rect& map = layout_.map;
        map.width = layout_.cell_width * layout_.weights.cols;
        map.height = layout_.cell_height * layout_.weights.rows;
        map.x = style::margin + axis_height + style::gap +
                (row_labels_.labels.empty() ? 0 : row_labels_.extent() + gap_to_labels);
        const int right = map.right() + style::gap_before_bar + style::colour_bar_width(bar_) + style::margin;
        const int title_width = raster.measure(picture_.title, style::title).width;
        layout_.width = std::max({right, 460, std::min(title_width + 2 * style::margin, 900)});
        content_width_ = layout_.width - 2 * style::margin;

        map.y = style::margin + style::header_height(picture_.title, picture_.caption, content_width_) + axis_height +
                style::gap;
        map.y += col_labels_height();
        bar_height_ = std::max(map.height, style::colour_bar_min_height);
        collect_notes();
        // Notes start below a bar that extends below the map.
        notes_width_ =
            map.height == bar_height_ ? layout_.width - style::margin - map.x : map.width + style::gap_before_bar / 2;
        const int below = std::max(map.bottom() + style::notes_height(notes_, notes_width_), map.y + bar_height_);
        layout_.height = below + style::margin;
    }

    void collect_notes() {
        const PooledAttention& weights = layout_.weights;
        if (weights.row_factor > 1 || weights.col_factor > 1) {
            notes_.push_back(format("Each cell: {} queries (mean) × {} keys (sum), so that rows still sum to 1.",
                                    weights.row_factor, weights.col_factor));
        }
        const auto broken = std::ranges::count_if(weights.values, [](float value) { return std::isnan(value); });
        if (broken > 0) notes_.push_back(format("{} cells are not a number (green).", broken));
    }

    void paint_cells(Image& image) const {
        frame(image, layout_.map.grown(1), style::line);
        draw_cells(image, {layout_.map.x, layout_.map.y}, layout_.weights, look_, layout_.cell_width,
                   layout_.cell_height, space_);
        if (!picture_.numbers || std::min(layout_.cell_width, layout_.cell_height) < cell_with_number) return;
        for (int row = 0; row < layout_.weights.rows; ++row) {
            for (int col = 0; col < layout_.weights.cols; ++col)
                if (!is_hidden(look_, layout_.weights, row, col)) paint_number(image, row, col);
        }
    }

    void paint_number(Image& image, int row, int col) const {
        const float value = layout_.weights.at(row, col);
        const std::string text = cell_text(value);
        if (text.empty()) return;
        const TextRaster& raster = TextRaster::shared();
        const bool bright = lightness(attention_colour(look_, value)) > 55.0f;
        const TextStyle how{std::min(layout_.cell_width, layout_.cell_height) >= 44 ? 13 : 11,
                            bright ? style::dark_number : style::bright_number, TextWeight::regular};
        const TextExtent extent = raster.measure(text, how);
        const Rect cell = layout_.cell(row, col);
        raster.draw(image,
                    {cell.x + (cell.width - space_ - extent.width) / 2,
                     cell.y + (cell.height - space_ + extent.ascent * 3 / 4) / 2},
                    text, how);
    }

    void paint_row_labels(Image& image) {
        for (const style::AxisLabel& label : row_labels_.labels) {
            const Rect cell = layout_.cell(label.cell, 0);
            const int middle = cell.y + (cell.height - space_) / 2;
            if (row_labels_.thinned()) fill(image, {layout_.map.x - 6, middle, 5, 1}, style::line);
            layout_.row_labels.push_back(
                style::draw_row_label(image, layout_.map.x - gap_to_labels, middle, row_labels_, label));
        }
    }

    void paint_col_labels(Image& image) {
        const int bottom = layout_.map.y - gap_to_labels;
        for (const style::AxisLabel& label : col_labels_.labels) {
            const Rect cell = layout_.cell(0, label.cell);
            const int middle = cell.x + (cell.width - space_) / 2;
            if (col_labels_.thinned()) fill(image, {middle, layout_.map.y - 6, 1, 5}, style::line);
            layout_.col_labels.push_back(upright_
                                             ? style::draw_upright_label(image, bottom, middle, col_labels_, label)
                                             : style::draw_column_label(image, bottom, middle, col_labels_, label));
        }
    }

    /// Height of the column labels, including style::gap below them.
    int col_labels_height() const {
        if (col_labels_.labels.empty()) return 0;
        const int height = upright_ ? TextRaster::shared().measure("", style::label).height() : col_labels_.extent();
        return height + gap_to_labels;
    }

    void paint_axis_titles(Image& image) {
        const TextRaster& raster = TextRaster::shared();
        const Rect& map = layout_.map;
        const std::string across = "key (attended to)", down = "query (attends)";
        const TextExtent extent = raster.measure(across, style::axis);
        const int baseline = map.y - style::gap - extent.descent - col_labels_height();
        const int x = std::clamp(map.x + (map.width - extent.width) / 2, style::margin, layout_.width - extent.width);
        layout_.other_texts.push_back({across, raster.draw(image, {x, baseline}, across, style::axis)});
        const int length = raster.measure(down, style::axis).width;
        const int lower_end = std::min(map.y + (map.height + length) / 2, layout_.height - 2);
        layout_.other_texts.push_back(
            {down, raster.draw_upwards(image, {style::margin + extent.ascent, lower_end}, down, style::axis)});
    }

    const HeatmapPicture& picture_;
    HeatmapLayout& layout_;
    style::AxisLabels row_labels_, col_labels_;
    bool upright_ = false;  ///< column labels fit without rotation
    int space_ = 0;         ///< between cells
    AttentionLook look_;
    style::ColourBar bar_;
    std::vector<std::string> notes_;
    int content_width_ = 0, notes_width_ = 0, bar_height_ = 0;
};

}  // namespace

void check_heatmap(const HeatmapPicture& picture) {
    const auto fits = [](const std::vector<std::string>& labels, int count) {
        return labels.empty() || labels.size() == static_cast<std::size_t>(count);
    };
    if (!fits(picture.row_labels, picture.rows) || !fits(picture.col_labels, picture.cols)) {
        throw usage_error("heatmap: {} queries and {} keys, but {} and {} labels", picture.rows, picture.cols,
                          picture.row_labels.size(), picture.col_labels.size());
    }
    if (!(picture.value_max > 0.0f) || !std::isfinite(picture.value_max))
        throw usage_error("heatmap: value_max is {:g}; expected a number above 0", picture.value_max);
}

Image draw_heatmap(const HeatmapPicture& picture, HeatmapLayout* layout) {
    HeatmapLayout own;
    return Painter(picture, layout != nullptr ? *layout : own).paint();
}

std::vector<std::pair<std::string, std::string>> texts_of(const HeatmapPicture& picture) {
    return {
        {"Title", picture.title},
        {"Description", picture.caption},
        {"Software", "Vantage"},
        {"Vantage-Map",
         format("{} queries × {} keys, {}", picture.rows, picture.cols, picture.causal ? "causal" : "not causal")},
        {"Vantage-Scale", format("{}, 0 to {:g}", name_of(picture.scale), picture.value_max)},
        {"Vantage-Colours", name_of(picture.map)},
        {"Vantage-Pooling", "mass: sum over keys, mean over queries"},
    };
}

}  // namespace vantage::internal
