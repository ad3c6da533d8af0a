#include "runtime/picture/axis_labels.h"

#include <algorithm>

#include "runtime/base/at.h"
#include "runtime/picture/shown_text.h"

namespace vantage::internal::style {
namespace {

constexpr int longest_label = 150, gap_after_number = 7;
constexpr std::string_view leading_space = "·";

/// Distance between labels so that each has `room` pixels: a round number, so that positions are round, too.
int label_step(int cell, int room) {
    const int min_step = (room + cell - 1) / cell;
    for (int decade = 1;; decade *= 10) {
        for (const int step : {decade, 2 * decade, 5 * decade})
            if (step >= min_step) return step;
    }
}

TextStyle dim(TextStyle style) {
    style.colour = mixed(background, faint, 0.75f);
    return style;
}

int height_of(const TextStyle& style) { return TextRaster::shared().measure("", style).height(); }

/// The largest letters that fit a cell; otherwise the size for thinned-out labels.
TextStyle label_style(int cell) {
    TextStyle style = label;
    while (height_of(style) > cell && style.pixels > 11) --style.pixels;
    if (height_of(style) > cell) style.pixels = 12;
    return style;
}

Rect united(const Rect& a, const Rect& b) {
    if (a.width == 0 || a.height == 0) return b;
    const int x = std::min(a.x, b.x), y = std::min(a.y, b.y);
    return {x, y, std::max(a.right(), b.right()) - x, std::max(a.bottom(), b.bottom()) - y};
}

/// The sign for a leading space has a fainter colour. `at`: start of the baseline.
Rect draw_token(Image& image, Point at, const std::string& text, const TextStyle& style, bool upwards) {
    const TextRaster& raster = TextRaster::shared();
    const std::size_t cut = text.starts_with(leading_space) ? leading_space.size() : 0;
    const std::string sign = text.substr(0, cut), rest = text.substr(cut);
    const int advance = raster.measure(sign, style).width;
    if (upwards) {
        const Rect box = raster.draw_upwards(image, at, sign, dim(style));
        return united(box, raster.draw_upwards(image, {at.x, at.y - advance}, rest, style));
    }
    const Rect box = raster.draw(image, at, sign, dim(style));
    return united(box, raster.draw(image, {at.x + advance, at.y}, rest, style));
}

/// Distance from the middle of the letters to the baseline.
int half_of_letters(const TextStyle& style) { return TextRaster::shared().measure("", style).ascent * 3 / 8; }

}  // namespace

int AxisLabels::extent() const { return text_extent + (thinned() ? number_extent + gap_after_number : 0); }

AxisLabels make_axis_labels(std::span<const std::string> tokens, int cells, int factor, int cell) {
    const TextRaster& raster = TextRaster::shared();
    AxisLabels made;
    if (tokens.empty()) return made;
    const std::vector<std::string> texts = token_labels(tokens);
    made.style = label_style(cell);
    const int step = label_step(cell, height_of(made.style));
    for (int i = 0; i < cells; i += step) {
        const int token = i * factor;
        AxisLabel entry{i, "", raster.fitted(at(texts, token), made.style, longest_label)};
        if (step > 1 || factor > 1) entry.number = std::to_string(token);
        made.number_extent = std::max(made.number_extent, raster.measure(entry.number, tick).width);
        made.text_extent = std::max(made.text_extent, raster.measure(entry.text, made.style).width);
        made.labels.push_back(std::move(entry));
    }
    return made;
}

PlacedText draw_row_label(Image& image, int right, int middle, const AxisLabels& labels, const AxisLabel& entry) {
    const TextRaster& raster = TextRaster::shared();
    const int baseline = middle + half_of_letters(labels.style);
    const int number_width = raster.measure(entry.number, tick).width;
    const Rect number = raster.draw(image, {right - number_width, baseline}, entry.number, dim(tick));
    if (labels.thinned()) right -= labels.number_extent + gap_after_number;
    const Point at{right - raster.measure(entry.text, labels.style).width, baseline};
    return {entry.text, united(number, draw_token(image, at, entry.text, labels.style, false))};
}

PlacedText draw_column_label(Image& image, int bottom, int middle, const AxisLabels& labels, const AxisLabel& entry) {
    const TextRaster& raster = TextRaster::shared();
    const int baseline = middle + half_of_letters(labels.style);
    const Rect number = raster.draw_upwards(image, {baseline, bottom}, entry.number, dim(tick));
    if (labels.thinned()) bottom -= labels.number_extent + gap_after_number;
    return {entry.text, united(number, draw_token(image, {baseline, bottom}, entry.text, labels.style, true))};
}

PlacedText draw_upright_label(Image& image, int bottom, int middle, const AxisLabels& labels, const AxisLabel& entry) {
    const TextExtent extent = TextRaster::shared().measure(entry.text, labels.style);
    const Point at{middle - extent.width / 2, bottom - extent.descent};
    return {entry.text, draw_token(image, at, entry.text, labels.style, false)};
}

}  // namespace vantage::internal::style
