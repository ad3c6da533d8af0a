// A picture of lines, discs and texts, as pixels or as SVG.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/picture/text_raster.h"

namespace vantage {

struct DrawnLine {
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    Rgb colour;
    double width = 1;
};
/// Full, or with `ring` > 0 a ring so thick.
struct DrawnDisc {
    double x = 0, y = 0, radius = 1;
    Rgb colour;
    double ring = 0;
};
/// From the left end of the baseline; upwards it is read from bottom to top.
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

struct Drawing {
    int width = 0, height = 0;
    Rgb background;
    std::vector<std::variant<DrawnBox, DrawnLine, DrawnDisc, DrawnText>> shapes;  ///< later ones cover earlier ones
};

Image paint(const Drawing& drawing);
std::string svg_text(const Drawing& drawing);

/// Throws usage unless the name ends in .png or .svg.
void require_picture_name(const std::string& path);
/// By its ending. Written whole or not at all.
void write_drawing(const std::string& path, const Drawing& drawing, const std::string& title);

}  // namespace vantage
