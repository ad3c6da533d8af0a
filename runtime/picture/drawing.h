// A drawing of boxes, lines, discs and texts, written as PNG or SVG.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/picture/text_raster.h"

namespace vantage::internal {

struct DrawnLine {
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    Rgb colour;
    double width = 1;
};
/// A disc, or with `ring` > 0 a ring of this width.
struct DrawnDisc {
    double x = 0, y = 0, radius = 1;
    Rgb colour;
    double ring = 0;
};
/// `at`: left end of the baseline. `upwards`: rotated by 90°, read from bottom to top.
struct DrawnText {
    Point at;
    std::string text;
    TextStyle style;
    bool upwards = false;
};
struct DrawnBox {
    Rect box;
    Rgb colour;
};

/// Any text inside an element or an attribute of an SVG. Control characters become spaces.
std::string svg_text(std::string_view text);

struct Drawing {
    int width = 0, height = 0;
    Rgb background;
    std::vector<std::variant<DrawnBox, DrawnLine, DrawnDisc, DrawnText>> shapes;  ///< later ones cover earlier ones
};

Image paint(const Drawing& drawing);
std::string svg_text(const Drawing& drawing);

/// Throws usage unless the name ends in .png or .svg.
void require_picture_name(const std::string& path);
/// Writes PNG or SVG, by the extension. The file is replaced atomically.
void write_drawing(const std::string& path, const Drawing& drawing, const std::string& title);

}  // namespace vantage::internal
