#include "runtime/picture/drawing.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/utf8.h"
#include "runtime/picture/colour_map.h"
#include "runtime/picture/png.h"

namespace vantage::internal {

namespace {

std::uint8_t coverage(double share) {
    return static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0)));
}

// Blends `colour` into the pixels of a box by the signed distance of their centres to the edge of a shape, in pixels.
template <class Inside>
void blend_inside(Image& image, double x0, double y0, double x1, double y1, Rgb colour, Inside inside) {
    const int left = std::max(0, static_cast<int>(x0) - 1), top = std::max(0, static_cast<int>(y0) - 1);
    const int right = std::min(image.width - 1, static_cast<int>(x1) + 1);
    const int bottom = std::min(image.height - 1, static_cast<int>(y1) + 1);
    for (int y = top; y <= bottom; ++y)
        for (int x = left; x <= right; ++x)
            if (const double share = inside(x + 0.5, y + 0.5) + 0.5; share > 0)
                image.blend(x, y, colour, coverage(share));
}

void paint_shape(Image& image, const DrawnBox& box) { fill(image, box.box, box.colour); }

void paint_shape(Image& image, const DrawnLine& l) {
    const double dx = l.x1 - l.x0, dy = l.y1 - l.y0, length = std::hypot(dx, dy), half = l.width / 2;
    if (length == 0) return;
    blend_inside(image, std::min(l.x0, l.x1) - half, std::min(l.y0, l.y1) - half, std::max(l.x0, l.x1) + half,
                 std::max(l.y0, l.y1) + half, l.colour, [&](double x, double y) {
                     const double along = std::clamp(((x - l.x0) * dx + (y - l.y0) * dy) / length, 0.0, length);
                     return half - std::hypot(x - l.x0 - along * dx / length, y - l.y0 - along * dy / length);
                 });
}

void paint_shape(Image& image, const DrawnDisc& d) {
    blend_inside(image, d.x - d.radius, d.y - d.radius, d.x + d.radius, d.y + d.radius, d.colour,
                 [&](double x, double y) {
                     const double away = std::hypot(x - d.x, y - d.y);
                     return d.ring > 0 ? d.ring / 2 - std::abs(away - (d.radius - d.ring / 2)) : d.radius - away;
                 });
}

void paint_shape(Image& image, const DrawnText& t) {
    TextRaster::shared().draw(image, t.at, t.text, t.style, t.upwards);
}

std::string svg_shape(const DrawnBox& b) {
    return format(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="{}"/>)", b.box.x, b.box.y, b.box.width,
                  b.box.height, hex(b.colour));
}

std::string svg_shape(const DrawnLine& l) {
    return format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="{:.1f}"/>)", l.x0,
                  l.y0, l.x1, l.y1, hex(l.colour), l.width);
}

std::string svg_shape(const DrawnDisc& d) {
    const std::string place = format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" )", d.x, d.y, d.radius - d.ring / 2);
    if (d.ring == 0) return place + format(R"(fill="{}"/>)", hex(d.colour));
    return place + format(R"(fill="none" stroke="{}" stroke-width="{:.1f}"/>)", hex(d.colour), d.ring);
}

std::string svg_shape(const DrawnText& t) {
    const char* weight = t.style.weight == TextWeight::bold ? R"( font-weight="bold")" : "";
    const std::string turned = t.upwards ? format(" transform=\"rotate(-90 {} {})\"", t.at.x, t.at.y) : "";
    return format(R"(<text x="{}" y="{}" font-size="{}" fill="{}"{}{}>{}</text>)", t.at.x, t.at.y, t.style.pixels,
                  hex(t.style.colour), weight, turned, svg_text(t.text));
}

}  // namespace

std::string svg_text(std::string_view text) {
    std::string all;
    for (const char32_t c : decode_utf8(text)) {
        if (c == '&')
            all += "&amp;";
        else if (c == '<')
            all += "&lt;";
        else if (c == '>')
            all += "&gt;";
        else if (c == '"')
            all += "&quot;";
        else  // XML has no other control characters, and no U+FFFE and U+FFFF
            append_utf8(all, c < 0x20 ? U' ' : c == 0xFFFE || c == 0xFFFF ? U'\uFFFD' : c);
    }
    return all;
}

Image paint(const Drawing& drawing) {
    Image image(drawing.width, drawing.height, drawing.background);
    for (const auto& shape : drawing.shapes) std::visit([&](const auto& one) { paint_shape(image, one); }, shape);
    return image;
}

std::string svg_text(const Drawing& d) {
    std::string text = format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 0 {} {}" )",
                              d.width, d.height, d.width, d.height) +
                       "font-family=\"DejaVu Sans, Verdana, sans-serif\">\n" +
                       svg_shape(DrawnBox{{0, 0, d.width, d.height}, d.background}) + "\n";
    for (const auto& shape : d.shapes) text += std::visit([](const auto& one) { return svg_shape(one); }, shape) + "\n";
    return text + "</svg>\n";
}

void require_picture_name(const std::string& path) {
    if (!path.ends_with(".png") && !path.ends_with(".svg"))
        throw usage_error("{}: a picture must end in .png or .svg", path);
}

void write_drawing(const std::string& path, const Drawing& drawing, const std::string& title) {
    require_picture_name(path);
    if (path.ends_with(".svg"))
        write_file(path, svg_text(drawing));
    else
        write_png(path, paint(drawing), {{"Title", title}});
}

}  // namespace vantage::internal
