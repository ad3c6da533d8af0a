// A view as SVG: the cells are pixels of a PNG inside, everything else is lines and letters.
#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/base/utf8.h"
#include "runtime/picture/png.h"
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

Rgb colour_of(const ViewSubject& s, float value) {
    if (!s.difference()) return colour_at(s.state.colours, s.position(value));
    return difference_colour_at(s.state.theme == Theme::dark,
                                signed_position(value, s.state.difference_max, s.state.scale));
}

Image cells_of(const ViewSubject& s, Rgb surface) {
    Image image(static_cast<int>(s.cells.columns), static_cast<int>(s.cells.rows), surface);
    for (std::int64_t r = 0; r < s.cells.rows; ++r)
        for (std::int64_t c = 0; c < s.cells.columns; ++c)
            if (!s.hidden(r, c)) image.set(static_cast<int>(c), static_cast<int>(r), colour_of(s, s.at(r, c)));
    return image;
}

std::string text_at(double x, double y, const std::string& text, Rgb ink, double size, const std::string& more = {}) {
    return format("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:g}\" fill=\"{}\"{}>", x, y, size, hex(ink), more) +
           escaped(text) + "</text>\n";
}

/// Labels along an axis, thinned so that they are at least a line apart.
template <class Place>
std::string labels(std::int64_t count, double each, Place place) {
    std::string all;
    const auto step = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil((letter + 1) / each)));
    for (std::int64_t i = 0; i < count; i += step) all += place(i, (static_cast<double>(i) + 0.5) * each);
    return all;
}

std::string bar(const ViewSubject& s, double x, double y, double height, const Paper& paper) {
    constexpr int steps = 64;
    const bool both_ways = s.difference();
    const ColourTable& colours =
        both_ways ? difference_colours(s.state.theme == Theme::dark) : colours_of(s.state.colours);
    std::string all;
    for (int i = 0; i < steps; ++i) {
        const double share = (i + 0.5) / steps, place = both_ways ? 1 + share * 254 : share * 255;
        all += format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:g}\" height=\"{:.2f}\" fill=\"{}\"/>\n", x,
                      y + height * (1 - (i + 1) / double{steps}), bar_width, height / steps + 0.5,
                      hex(at(colours, std::lround(place))));
    }
    const auto tick = [&](double position, const std::string& text) {
        all += text_at(x + bar_width + 6, y + height * (1 - position) + 4, text, paper.ink, letter);
    };
    const std::vector<ScaleTick> ticks = both_ways
                                             ? scale_ticks(static_cast<float>(s.state.difference_max), s.state.scale)
                                             : bar_ticks(s.state.range, s.state.scale, s.state.modifiers);
    for (const ScaleTick& one : ticks) {
        const auto position = static_cast<double>(one.position);
        if (!both_ways || one.value <= 0) {
            tick(both_ways ? 0.5 : position, one.text);
        } else {
            tick(0.5 + position / 2, "+" + one.text);
            tick(0.5 - position / 2, "−" + one.text);
        }
    }
    return all;
}

/// One map with its labels and its bar; `x`: where it begins.
struct Drawn {
    std::string svg;
    double width = 0, height = 0;
};
Drawn draw_part(const ViewSubject& s, double x, const Paper& paper) {
    const auto rows = static_cast<double>(std::max<std::int64_t>(s.cells.rows, 1)),
               columns = static_cast<double>(std::max<std::int64_t>(s.cells.columns, 1));
    const double each = map_side / std::max(rows, columns), width = each * columns, height = each * rows;
    const double left = x + label_room, top = margin + title_height + label_room, bar_height = std::max(height, 120.0);
    std::string svg;
    if (!s.part_name().empty()) svg += text_at(x, margin + 60, s.part_name(), paper.ink, letter + 1);
    if (s.cells.rows > 0 && s.cells.columns > 0)
        svg += format(
                   "<image x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" preserveAspectRatio=\"none\" "
                   "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,",
                   left, top, width, height) +
               base64(encode_png(cells_of(s, paper.surface))) + "\"/>\n";
    svg += labels(s.cells.rows, each, [&](std::int64_t i, double at) {
        return text_at(left - 6, top + at + 4, s.row_label(i), paper.ink, letter, " text-anchor=\"end\"");
    });
    svg += labels(s.cells.columns, each, [&](std::int64_t i, double at) {
        return text_at(0, 0, s.column_label(i), paper.ink, letter,
                       format(" transform=\"translate({:.2f} {:.2f}) rotate(-90)\"", left + at + 4, top - 6));
    });
    svg += bar(s, left + width + margin, top, bar_height, paper);
    return {svg, label_room + width + 3 * margin + bar_width + 48, top + bar_height + 2 * margin};
}

}  // namespace

std::string as_svg(const ViewSubject& s) {
    const Paper paper = paper_of(s.state.theme);
    std::string maps;
    double width = margin, height = 0;
    for (const ViewSubject& part : s.parts()) {
        const Drawn drawn = draw_part(part, width, paper);
        maps += drawn.svg;
        width += drawn.width, height = std::max(height, drawn.height);
    }
    std::string svg = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "font-family=\"DejaVu Sans, sans-serif\">\n",
        std::max(width, 720.0), height);
    svg += "<metadata>\n";
    for (const auto& [key, value] : facts_of(s)) svg += escaped(key) + ": " + escaped(value) + "\n";
    svg += "</metadata>\n<rect width=\"100%\" height=\"100%\" fill=\"" + hex(paper.background) + "\"/>\n";
    svg += text_at(margin, margin + 16, facts_of(s).front().second, paper.ink, 18, " font-weight=\"bold\"");
    svg += text_at(margin, margin + 38, caption_of(s), paper.faint, letter);
    return svg + maps + "</svg>\n";
}

}  // namespace vantage::view
