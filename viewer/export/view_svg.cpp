// A view as SVG: the cells are pixels of a PNG inside, everything else is lines and letters.
#include <algorithm>
#include <cmath>

#include "runtime/base/log.h"
#include "runtime/base/utf8.h"
#include "runtime/io/png.h"
#include "viewer/export/base64.h"
#include "viewer/export/view_export.h"

namespace vantage::view {

namespace {

constexpr double map_side = 640, margin = 24, title_height = 56, label_room = 120, bar_width = 18, letter = 12;

struct Paper {
    Rgb background, ink, faint, surface;
};
Paper paper_of(Theme theme) {
    if (theme == Theme::light) return {{255, 255, 255}, {24, 26, 32}, {98, 104, 120}, {232, 234, 240}};
    return {{22, 24, 31}, {236, 238, 244}, {142, 149, 168}, {37, 40, 51}};
}

std::string colour(Rgb c) { return format("#%02x%02x%02x", c.r, c.g, c.b); }

std::string escaped(const std::string& text) {
    std::string all;
    for (const char c : repair_utf8(text)) {
        const std::string_view sign = c == '&'   ? "&amp;"
                                      : c == '<' ? "&lt;"
                                      : c == '>' ? "&gt;"
                                      : c == '"' ? "&quot;"
                                                 : "";
        const bool control = static_cast<unsigned char>(c) < 0x20;
        all += !sign.empty() ? std::string(sign) : std::string(1, control ? ' ' : c);
    }
    return all;
}

Image cells_of(const ViewSubject& s, Rgb surface) {
    Image image(static_cast<int>(s.cells.columns), static_cast<int>(s.cells.rows), surface);
    for (std::int64_t r = 0; r < s.cells.rows; ++r)
        for (std::int64_t c = 0; c < s.cells.columns; ++c)
            if (!s.hidden(r, c))
                image.set(static_cast<int>(c), static_cast<int>(r), colour_at(s.state.colours, s.position(s.at(r, c))));
    return image;
}

std::string text_at(double x, double y, const std::string& text, Rgb ink, double size, const std::string& more = {}) {
    return format("<text x=\"%.2f\" y=\"%.2f\" font-size=\"%g\" fill=\"%s\"%s>", x, y, size, colour(ink).c_str(),
                  more.c_str()) +
           escaped(text) + "</text>\n";
}

/// Labels along an axis, thinned so that they stand a line apart.
template <class Place>
std::string labels(std::int64_t count, double each, Place place) {
    std::string all;
    const auto step = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil((letter + 1) / each)));
    for (std::int64_t i = 0; i < count; i += step) all += place(i, (static_cast<double>(i) + 0.5) * each);
    return all;
}

std::string bar(const ViewSubject& s, double x, double y, double height, const Paper& paper) {
    constexpr int steps = 64;
    std::string all;
    for (int i = 0; i < steps; ++i)
        all += format("<rect x=\"%.2f\" y=\"%.2f\" width=\"%g\" height=\"%.2f\" fill=\"%s\"/>\n", x,
                      y + height * (1 - (i + 1) / double{steps}), bar_width, height / steps + 0.5,
                      colour(colour_at(s.state.colours, (static_cast<float>(i) + 0.5f) / steps)).c_str());
    for (const ScaleTick& tick :
         scale_ticks(static_cast<float>(s.state.range.max), s.state.scale, static_cast<float>(s.state.range.min)))
        all += text_at(x + bar_width + 6, y + height * (1 - static_cast<double>(tick.position)) + 4, tick.text,
                       paper.ink, letter);
    return all;
}

}  // namespace

std::string as_svg(const ViewSubject& s) {
    const Paper paper = paper_of(s.state.theme);
    const auto rows = static_cast<double>(std::max<std::int64_t>(s.cells.rows, 1)),
               columns = static_cast<double>(std::max<std::int64_t>(s.cells.columns, 1));
    const double each = map_side / std::max(rows, columns), width = each * columns, height = each * rows;
    const double left = margin + label_room, top = margin + title_height + label_room,
                 bar_height = std::max(height, 120.0);
    const double full_width = std::max(left + width + 3 * margin + bar_width + 48, 720.0),
                 full_height = top + bar_height + 2 * margin;
    std::string svg = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
        "font-family=\"DejaVu Sans, sans-serif\">\n",
        full_width, full_height);
    svg += "<metadata>\n";
    for (const auto& [key, value] : facts_of(s)) svg += escaped(key) + ": " + escaped(value) + "\n";
    svg += "</metadata>\n<rect width=\"100%\" height=\"100%\" fill=\"" + colour(paper.background) + "\"/>\n";
    svg += text_at(margin, margin + 16, facts_of(s).front().second, paper.ink, 18, " font-weight=\"bold\"");
    svg += text_at(margin, margin + 38, caption_of(s), paper.faint, letter);
    if (!s.values().empty())
        svg += format(
                   "<image x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" preserveAspectRatio=\"none\" "
                   "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,",
                   left, top, width, height) +
               base64(encode_png(cells_of(s, paper.surface))) + "\"/>\n";
    svg += labels(s.cells.rows, each, [&](std::int64_t i, double at) {
        return text_at(left - 6, top + at + 4, s.row_label(i), paper.ink, letter, " text-anchor=\"end\"");
    });
    svg += labels(s.cells.columns, each, [&](std::int64_t i, double at) {
        return text_at(0, 0, s.column_label(i), paper.ink, letter,
                       format(" transform=\"translate(%.2f %.2f) rotate(-90)\"", left + at + 4, top - 6));
    });
    return svg + bar(s, left + width + margin, top, bar_height, paper) + "</svg>\n";
}

}  // namespace vantage::view
