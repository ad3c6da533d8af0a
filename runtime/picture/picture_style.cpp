#include "runtime/picture/picture_style.h"

#include <algorithm>
#include <climits>
#include <cmath>

#include "runtime/base/format.h"
#include "runtime/picture/shown_text.h"

namespace vantage::internal::style {
namespace {

constexpr int bar_thickness = 14, tick_length = 5, gap_after_tick = 6, gap_before_name = 14;
constexpr int line_gap = 6, gap_below_title = 6, gap_below_header = 20, gap_above_notes = 16;

int line_height(const TextStyle& style) { return text_height(style) + line_gap; }

void draw_lines(Image& image, Point at, const std::vector<std::string>& lines, const TextStyle& style,
                std::vector<PlacedText>& placed) {
    const TextRaster& raster = TextRaster::shared();
    int y = at.y + raster.measure("", style).ascent;
    for (const std::string& text : lines) {
        placed.push_back({text, raster.draw(image, {at.x, y}, text, style)});
        y += line_height(style);
    }
}

std::vector<std::string> lines_of(const std::vector<std::string>& notes, int width) {
    std::vector<std::string> lines;
    for (const std::string& note : notes)
        for (std::string& text : wrapped(note, caption, width)) lines.push_back(std::move(text));
    return lines;
}

std::string bar_name(const AttentionLook& look, int height) {
    const std::string scale = name_of(look.scale), full = std::string(look.value_name) + "  (" + scale + " scale)";
    return TextRaster::shared().measure(full, axis).width <= height ? full : "weight (" + scale + ")";
}

std::vector<ScaleTick> ticks_of(const AttentionLook& look, bool exceeded) {
    std::vector<ScaleTick> ticks = scale_ticks(look.value_max, look.scale);
    if (exceeded) ticks.back().text = "≥ " + ticks.back().text;
    return ticks;
}

}  // namespace

int text_height(const TextStyle& style) { return TextRaster::shared().measure("", style).height(); }

std::vector<std::string> wrapped(const std::string& text, const TextStyle& style, int width) {
    const TextRaster& raster = TextRaster::shared();
    std::vector<std::string> lines;
    std::size_t begin = 0;
    while (begin <= text.size() && !text.empty()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string current;
        for (const std::string& part : split(text.substr(begin, end - begin), ' ')) {
            const std::string word = without_controls(part);
            const std::string longer = current.empty() ? word : current + " " + word;
            if (current.empty() || raster.measure(longer, style).width <= width) {
                current = longer;
            } else {
                lines.push_back(raster.fitted(current, style, width));
                current = word;
            }
        }
        lines.push_back(raster.fitted(current, style, width));
        begin = end + 1;
    }
    return lines;
}

int header_height(const std::string& title_text, const std::string& caption_text, int width) {
    if (title_text.empty() && caption_text.empty()) return 0;
    const auto title_lines = static_cast<int>(wrapped(title_text, title, width).size());
    const auto caption_lines = static_cast<int>(wrapped(caption_text, caption, width).size());
    return title_lines * line_height(title) + (title_lines > 0 ? gap_below_title : 0) +
           caption_lines * line_height(caption) + gap_below_header;
}

void draw_header(Image& image, Point at, const std::string& title_text, const std::string& caption_text, int width,
                 std::vector<PlacedText>& placed) {
    const std::vector<std::string> title_lines = wrapped(title_text, title, width);
    draw_lines(image, at, title_lines, title, placed);
    if (!title_lines.empty()) at.y += static_cast<int>(title_lines.size()) * line_height(title) + gap_below_title;
    draw_lines(image, at, wrapped(caption_text, caption, width), caption, placed);
}

int notes_height(const std::vector<std::string>& notes, int width) {
    const auto lines = static_cast<int>(lines_of(notes, width).size());
    return lines == 0 ? 0 : gap_above_notes + lines * line_height(caption) - line_gap;
}

void draw_notes(Image& image, Point at, const std::vector<std::string>& notes, int width,
                std::vector<PlacedText>& placed) {
    draw_lines(image, {at.x, at.y + gap_above_notes}, lines_of(notes, width), caption, placed);
}

int colour_bar_width(const AttentionLook& look, bool exceeded) {
    const TextRaster& raster = TextRaster::shared();
    int widest = 0;
    for (const ScaleTick& mark : ticks_of(look, exceeded))
        widest = std::max(widest, raster.measure(mark.text, tick).width);
    return bar_thickness + tick_length + gap_after_tick + widest + gap_before_name + text_height(axis);
}

void draw_colour_bar(Image& image, Point at, int height, const AttentionLook& look, bool exceeded,
                     std::vector<PlacedText>& placed) {
    const TextRaster& raster = TextRaster::shared();
    for (int y = 0; y < height; ++y) {
        const float position = 1.0f - static_cast<float>(y) / static_cast<float>(std::max(1, height - 1));
        fill(image, {at.x, at.y + y, bar_thickness, 1}, colour_at(look.map, position));
    }
    frame(image, Rect{at.x, at.y, bar_thickness, height}.grown(1), line);

    const TextExtent letters = raster.measure("0", tick);
    const int middle = letters.ascent * 3 / 8;  // from the baseline to the middle of a digit
    int last_top = INT_MAX;
    for (const ScaleTick& mark : ticks_of(look, exceeded)) {
        const int y = at.y + static_cast<int>(std::lround((1.0f - mark.position) * static_cast<float>(height - 1)));
        if (y + middle + 2 > last_top) continue;  // would overlap the one below
        fill(image, {at.x + bar_thickness + 2, y, tick_length, 1}, faint);
        const Point where{at.x + bar_thickness + tick_length + gap_after_tick, y + middle};
        placed.push_back({mark.text, raster.draw(image, where, mark.text, tick)});
        last_top = where.y - letters.ascent;
    }

    const std::string name = bar_name(look, height);
    const TextExtent extent = raster.measure(name, axis);
    const int right = at.x + colour_bar_width(look, exceeded);
    placed.push_back(
        {name, raster.draw_upwards(image, {right - extent.descent, at.y + (height + extent.width) / 2}, name, axis)});
}

}  // namespace vantage::internal::style
