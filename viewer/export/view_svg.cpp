// A view as SVG: rectangles and letters; the cells of a large map are pixels of a PNG inside.
#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/picture/drawing.h"
#include "runtime/picture/png.h"
#include "runtime/picture/shown_text.h"
#include "viewer/export/view_export.h"

namespace vantage::view {

namespace {

constexpr double map_side = 640, margin = 24, title_height = 56, bar_width = 18, bar_room = 120, letter = 12;
constexpr std::int64_t max_rectangles = 128;  // cells of a side that are drawn as rectangles

/// A figure for documents: on white, whatever the theme of the window.
namespace paper {
constexpr bool dark = false;
constexpr Rgb background{255, 255, 255}, ink{24, 26, 32}, faint{98, 104, 120}, surface{240, 241, 245};
}  // namespace paper

Rgb colour_of(const ViewSubject& s, float value) {
    if (!s.difference()) return colour_at(s.state.colours, s.position(value), paper::dark);
    return difference_colour_at(paper::dark, signed_position(value, s.state.difference_max, s.state.scale));
}

Image cells_of(const ViewSubject& s) {
    Image image(static_cast<int>(s.cells.columns), static_cast<int>(s.cells.rows), paper::surface);
    for (std::int64_t r = 0; r < s.cells.rows; ++r)
        for (std::int64_t c = 0; c < s.cells.columns; ++c)
            if (!s.hidden(r, c)) image.set(static_cast<int>(c), static_cast<int>(r), colour_of(s, s.at(r, c)));
    return image;
}

/// One rectangle for neighbours of a row that have the same colour.
std::string rectangles(const Image& cells) {
    std::string all;
    for (int y = 0; y < cells.height; ++y)
        for (int x = 0, end = 0; x < cells.width; x = end) {
            for (end = x + 1; end < cells.width && cells.at(end, y) == cells.at(x, y);) ++end;
            all += format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"1\" fill=\"{}\"/>\n", x, y, end - x,
                          hex(cells.at(x, y)));
        }
    return all;
}

/// The cells in a box. Many would make rectangles of them a large file: then they are pixels of a PNG, which some
/// programs draw blurred.
std::string map_at(const ViewSubject& s, double x, double y, double each) {
    const auto wide = static_cast<double>(s.cells.columns), high = static_cast<double>(s.cells.rows);
    if (s.cells.rows <= 0 || s.cells.columns <= 0) return "";
    if (std::max(s.cells.rows, s.cells.columns) <= max_rectangles)
        return format("<g transform=\"translate({:.2f} {:.2f}) scale({:.4f})\" shape-rendering=\"crispEdges\">\n", x, y,
                      each) +
               rectangles(cells_of(s)) + "</g>\n";
    return format(
               "<image x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" preserveAspectRatio=\"none\" "
               "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,",
               x, y, each * wide, each * high) +
           base64(encode_png(cells_of(s))) + "\"/>\n";
}

std::string text_at(double x, double y, const std::string& text, Rgb colour, double size,
                    const std::string& more = {}) {
    return format("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:g}\" fill=\"{}\"{}>", x, y, size, hex(colour), more) +
           svg_text(text) + "</text>\n";
}
std::string turned(double x, double y) { return format(" transform=\"translate({:.2f} {:.2f}) rotate(-90)\"", x, y); }

/// Labels of an axis, thinned so that they are at least a line apart. Where they are missing in between they have their
/// positions: those of the first tokens of their cells, of `size` tokens each.
struct AxisLabels {
    std::vector<std::string> texts;  ///< empty between those that are drawn
    double room = 0;                 ///< for the longest
    template <class Label>
    AxisLabels(std::int64_t count, double each, std::int64_t first, std::int64_t size, bool positions, Label label) {
        constexpr int max_columns = 26;
        constexpr double column = 0.62 * letter;  // of a wide sans serif, on average
        const auto step = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil((letter + 1) / each)));
        for (std::int64_t i = 0; i < count; ++i) {
            std::string text = i % step == 0 ? shortened(label(i), max_columns) : "";
            if (i % step == 0 && (step > 1 || size > 1) && positions) text += format("·{}", first + i * size);
            room = std::max(room, column * column_width(text));
            texts.push_back(std::move(text));
        }
    }
};

std::string bar(const ViewSubject& s, double x, double y, double height) {
    constexpr int steps = 64;
    const bool both_ways = s.difference();
    const ColourTable& colours = both_ways ? difference_colours(paper::dark) : colours_of(s.state.colours, paper::dark);
    std::string all = text_at(x, y - 10, s.bar_title(), paper::ink, letter);
    for (int i = 0; i < steps; ++i) {
        const double share = (i + 0.5) / steps, place = both_ways ? 1 + share * 254 : share * 255;
        all += format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:g}\" height=\"{:.2f}\" fill=\"{}\"/>\n", x,
                      y + height * (1 - (i + 1) / double{steps}), bar_width, height / steps + 0.5,
                      hex(at(colours, std::lround(place))));
    }
    for (const ScaleTick& one : s.ticks()) {
        const double place = y + height * (1 - static_cast<double>(one.position));
        all += format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"4\" height=\"1\" fill=\"{}\"/>\n", x + bar_width,
                      place - 0.5, hex(paper::faint));
        all += text_at(x + bar_width + 8, place + 4, one.text, paper::ink, letter);
    }
    return all;
}

/// One map with its labels and its bar; `x`: where it begins.
struct Drawn {
    std::string svg;
    double width = 0, height = 0;
};
Drawn draw_part(const ViewSubject& s, double x) {
    const auto rows = static_cast<double>(std::max<std::int64_t>(s.cells.rows, 1)),
               columns = static_cast<double>(std::max<std::int64_t>(s.cells.columns, 1));
    const double each = map_side / std::max(rows, columns), width = each * columns, height = each * rows;
    const std::int64_t size = std::int64_t{1} << s.cells.level;
    const AxisLabels queries(s.cells.rows, each, s.cells.first_row, size, s.has_positions(),
                             [&](std::int64_t i) { return s.row_label(i); });
    const AxisLabels keys(s.cells.columns, each, s.cells.first_column, size,
                          s.has_positions() && s.state.axis == KeyAxis::absolute,
                          [&](std::int64_t i) { return s.column_label(i); });
    const double name = s.part_name().empty() ? 0 : 24, title = 20, left = x + title + queries.room + 6,
                 top = margin + title_height + name + title + keys.room + 6, bar_height = std::max(height, 120.0);
    std::string svg;
    if (name > 0) svg += text_at(x, margin + 60, s.part_name(), paper::ink, letter + 1);
    svg += text_at(left, top - keys.room - 16, s.column_title(), paper::faint, letter);
    svg += text_at(0, 0, query_title, paper::faint, letter,
                   " text-anchor=\"end\"" + turned(left - queries.room - 16, top));
    svg += map_at(s, left, top, each);
    const auto middle = [&](std::size_t i) { return (static_cast<double>(i) + 0.5) * each + 4; };
    for (std::size_t i = 0; i < queries.texts.size(); ++i)
        if (!queries.texts[i].empty())
            svg += text_at(left - 6, top + middle(i), queries.texts[i], paper::ink, letter, " text-anchor=\"end\"");
    for (std::size_t i = 0; i < keys.texts.size(); ++i)
        if (!keys.texts[i].empty())
            svg += text_at(0, 0, keys.texts[i], paper::ink, letter, turned(left + middle(i), top - 6));
    svg += bar(s, left + width + margin, top, bar_height);
    return {svg, left - x + width + margin + bar_room, top + bar_height + margin};
}

}  // namespace

std::string as_svg(const ViewSubject& s) {
    std::string maps;
    double width = margin, height = 0;
    for (const ViewSubject& part : s.with_plain_labels().parts()) {
        const Drawn drawn = draw_part(part, width);
        maps += drawn.svg;
        width += drawn.width, height = std::max(height, drawn.height);
    }
    std::string svg = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "font-family=\"DejaVu Sans, sans-serif\">\n",
        std::max(width, 720.0), height);
    svg += "<metadata>\n";
    for (const auto& [key, value] : facts_of(s)) svg += svg_text(key) + ": " + svg_text(value) + "\n";
    svg += "</metadata>\n<rect width=\"100%\" height=\"100%\" fill=\"" + hex(paper::background) + "\"/>\n";
    svg += text_at(margin, margin + 16, facts_of(s).front().second, paper::ink, 18, " font-weight=\"bold\"");
    svg += text_at(margin, margin + 38, caption_of(s), paper::faint, letter);
    return svg + maps + "</svg>\n";
}

}  // namespace vantage::view
