#include "runtime/picture/heatmap.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/picture/shown_text.h"

namespace vantage::internal {
namespace {

constexpr int default_side = 760;  // pixels of the map, if the number of tokens allows
constexpr int largest_cell = 54, cell_with_gap = 16, cell_with_number = 34;
constexpr int gap_to_labels = 9;
constexpr int longest_label = 150, gap_after_number = 7;
constexpr std::string_view space_mark = "·";

// ---- token labels along an axis, thinned out so that they are readable ----

struct AxisLabel {
    int cell = 0;        ///< row or column
    std::string number;  ///< position of the token; only if labels are thinned out
    std::string text;
};

struct AxisLabels {
    std::vector<AxisLabel> labels;
    TextStyle style = style::label;          ///< slightly smaller if that avoids thinning out
    int number_extent = 0, text_extent = 0;  ///< the longest, in pixels
    bool thinned() const { return number_extent > 0; }
    /// Of numbers, texts and the space between them.
    int extent() const { return text_extent + (thinned() ? number_extent + gap_after_number : 0); }
};

/// Distance between labels so that each has `room` pixels: a round number, so that positions are round, too.
int label_step(int cell, int room) {
    const int min_step = (room + cell - 1) / cell;
    for (int decade = 1;; decade *= 10) {
        for (const int step : {decade, 2 * decade, 5 * decade})
            if (step >= min_step) return step;
    }
}

TextStyle dim(TextStyle style) {
    style.colour = mixed(style::background, style::faint, 0.75f);
    return style;
}

/// The largest letters that fit a cell; otherwise the size for thinned-out labels.
TextStyle label_style(int cell) {
    TextStyle style = style::label;
    while (style::text_height(style) > cell && style.pixels > 11) --style.pixels;
    if (style::text_height(style) > cell) style.pixels = 12;
    return style;
}

Rect united(const Rect& a, const Rect& b) {
    if (a.width == 0 || a.height == 0) return b;
    const int x = std::min(a.x, b.x), y = std::min(a.y, b.y);
    return {x, y, std::max(a.right(), b.right()) - x, std::max(a.bottom(), b.bottom()) - y};
}

/// The sign for a leading space has a fainter colour. `at`: start of the baseline.
Rect draw_token(Image& image, Point at, const std::string& text, const TextStyle& style, bool upwards = false) {
    const TextRaster& raster = TextRaster::shared();
    const std::size_t cut = text.starts_with(space_mark) ? space_mark.size() : 0;
    const std::string sign = text.substr(0, cut), rest = text.substr(cut);
    const int advance = raster.measure(sign, style).width;
    const Point after = upwards ? Point{at.x, at.y - advance} : Point{at.x + advance, at.y};
    const Rect box = raster.draw(image, at, sign, dim(style), upwards);
    return united(box, raster.draw(image, after, rest, style, upwards));
}

/// Distance from the middle of the letters to the baseline.
int half_of_letters(const TextStyle& style) { return TextRaster::shared().measure("", style).ascent * 3 / 8; }

/// `tokens` may be empty. A cell of `cell` pixels covers `factor` tokens.
AxisLabels make_axis_labels(std::span<const std::string> tokens, int cells, int factor, int cell) {
    const TextRaster& raster = TextRaster::shared();
    AxisLabels made;
    if (tokens.empty()) return made;
    const std::vector<std::string> texts = token_labels(tokens);
    made.style = label_style(cell);
    const int step = label_step(cell, style::text_height(made.style));
    for (int i = 0; i < cells; i += step) {
        const int token = i * factor;
        AxisLabel entry{i, "", raster.fitted(at(texts, token), made.style, longest_label)};
        if (step > 1 || factor > 1) entry.number = std::to_string(token);
        made.number_extent = std::max(made.number_extent, raster.measure(entry.number, style::tick).width);
        made.text_extent = std::max(made.text_extent, raster.measure(entry.text, made.style).width);
        made.labels.push_back(std::move(entry));
    }
    return made;
}

/// Label of a row: right-aligned at `right`, vertically centred at `middle`.
style::PlacedText draw_row_label(Image& image, int right, int middle, const AxisLabels& labels,
                                 const AxisLabel& entry) {
    const TextRaster& raster = TextRaster::shared();
    const int baseline = middle + half_of_letters(labels.style);
    const int number_width = raster.measure(entry.number, style::tick).width;
    const Rect number = raster.draw(image, {right - number_width, baseline}, entry.number, dim(style::tick));
    if (labels.thinned()) right -= labels.number_extent + gap_after_number;
    const Point at{right - raster.measure(entry.text, labels.style).width, baseline};
    return {entry.text, united(number, draw_token(image, at, entry.text, labels.style))};
}

/// Label of a column, rotated: starts at `bottom`, centred at `middle`.
style::PlacedText draw_column_label(Image& image, int bottom, int middle, const AxisLabels& labels,
                                    const AxisLabel& entry) {
    const TextRaster& raster = TextRaster::shared();
    const int baseline = middle + half_of_letters(labels.style);
    const Rect number = raster.draw_upwards(image, {baseline, bottom}, entry.number, dim(style::tick));
    if (labels.thinned()) bottom -= labels.number_extent + gap_after_number;
    return {entry.text, united(number, draw_token(image, {baseline, bottom}, entry.text, labels.style, true))};
}

/// Label of a column, not rotated: its bottom is at `bottom`, centred at `middle`.
style::PlacedText draw_upright_label(Image& image, int bottom, int middle, const AxisLabels& labels,
                                     const AxisLabel& entry) {
    const TextExtent extent = TextRaster::shared().measure(entry.text, labels.style);
    const Point at{middle - extent.width / 2, bottom - extent.descent};
    return {entry.text, draw_token(image, at, entry.text, labels.style)};
}

// ---- the map ----

/// Square cells if possible. With few rows, rows are high enough to read; with few columns, columns are wide enough for
/// their labels.
void choose_cells(HeatmapLayout& layout, const HeatmapPicture& picture) {
    const auto side = [](int count) { return std::clamp(default_side / count, 1, largest_cell); };
    const int by_rows = side(layout.weights.rows), by_cols = side(layout.weights.cols);
    layout.cell_width = std::min(by_cols, std::max(by_rows, 20));
    layout.cell_height = std::min(by_rows, std::max(by_cols, 20));
    if (layout.cell_width < largest_cell || picture.col_labels.empty()) return;
    const int wanted = make_axis_labels(picture.col_labels, picture.cols, 1, largest_cell).extent() + 12;
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
        row_labels_ = make_axis_labels(picture.row_labels, weights.rows, weights.row_factor, layout_.cell_height);
        col_labels_ = make_axis_labels(picture.col_labels, weights.cols, weights.col_factor, layout_.cell_width);
        upright_ = !col_labels_.thinned() && col_labels_.extent() + 6 <= layout_.cell_width;
        space_ = std::min(layout_.cell_width, layout_.cell_height) >= cell_with_gap ? 1 : 0;
        const float limit = picture.value_max * 1.0005f;
        exceeded_ = std::ranges::any_of(weights.values, [limit](float value) { return value > limit; });
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
        style::draw_colour_bar(image, {layout_.map.right() + style::gap_before_bar, layout_.map.y}, bar_height_,
                               picture_, exceeded_, layout_.other_texts);
        style::draw_notes(image, {layout_.map.x, layout_.map.bottom()}, notes_, notes_width_, layout_.other_texts);
        return image;
    }

private:
    void place() {
        const TextRaster& raster = TextRaster::shared();
        const int axis_height = style::text_height(style::axis);
        Rect& map = layout_.map;
        map.width = layout_.cell_width * layout_.weights.cols;
        map.height = layout_.cell_height * layout_.weights.rows;
        map.x = style::margin + axis_height + style::gap +
                (row_labels_.labels.empty() ? 0 : row_labels_.extent() + gap_to_labels);
        const int right =
            map.right() + style::gap_before_bar + style::colour_bar_width(picture_, exceeded_) + style::margin;
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
        draw_cells(image, {layout_.map.x, layout_.map.y}, layout_.weights, picture_, layout_.cell_width,
                   layout_.cell_height, space_);
        if (!picture_.numbers || std::min(layout_.cell_width, layout_.cell_height) < cell_with_number) return;
        for (int row = 0; row < layout_.weights.rows; ++row) {
            for (int col = 0; col < layout_.weights.cols; ++col)
                if (!is_hidden(picture_, layout_.weights, row, col)) paint_number(image, row, col);
        }
    }

    void paint_number(Image& image, int row, int col) const {
        const float value = layout_.weights.at(row, col);
        const std::string text = cell_text(value);
        if (text.empty()) return;
        const TextRaster& raster = TextRaster::shared();
        const bool bright = lightness(attention_colour(picture_, value)) > 55.0f;
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
        for (const AxisLabel& label : row_labels_.labels) {
            const Rect cell = layout_.cell(label.cell, 0);
            const int middle = cell.y + (cell.height - space_) / 2;
            if (row_labels_.thinned()) fill(image, {layout_.map.x - 6, middle, 5, 1}, style::line);
            layout_.row_labels.push_back(
                draw_row_label(image, layout_.map.x - gap_to_labels, middle, row_labels_, label));
        }
    }

    void paint_col_labels(Image& image) {
        const int bottom = layout_.map.y - gap_to_labels;
        for (const AxisLabel& label : col_labels_.labels) {
            const Rect cell = layout_.cell(0, label.cell);
            const int middle = cell.x + (cell.width - space_) / 2;
            if (col_labels_.thinned()) fill(image, {middle, layout_.map.y - 6, 1, 5}, style::line);
            layout_.col_labels.push_back(upright_ ? draw_upright_label(image, bottom, middle, col_labels_, label)
                                                  : draw_column_label(image, bottom, middle, col_labels_, label));
        }
    }

    /// Height of the column labels, including style::gap below them.
    int col_labels_height() const {
        if (col_labels_.labels.empty()) return 0;
        const int height = upright_ ? style::text_height(style::label) : col_labels_.extent();
        return height + gap_to_labels;
    }

    void paint_axis_titles(Image& image) {
        const TextRaster& raster = TextRaster::shared();
        const Rect& map = layout_.map;
        const std::string across = picture_.across, down = picture_.down;
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
    AxisLabels row_labels_, col_labels_;
    bool upright_ = false;   ///< column labels fit without rotation
    int space_ = 0;          ///< between cells
    bool exceeded_ = false;  ///< some weights are larger than the maximum
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

PngTexts texts_of(const HeatmapPicture& picture) {
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
