// Draws text: FreeType with DejaVu Sans, or a bitmap font if no font is installed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/picture/font_files.h"

namespace vantage::internal {

/// The size is the em in pixels.
struct TextStyle {
    int pixels = 13;
    Rgb colour;
    TextWeight weight = TextWeight::regular;
};

/// Extent in pixels: width, above the baseline, below it. The height depends on the style only.
struct TextExtent {
    int width = 0, ascent = 0, descent = 0;
    int height() const { return ascent + descent; }
};

/// Draws UTF-8. A character that no font has is drawn as a small code point: U+1F600. Thread-safe.
class TextRaster {
public:
    /// Fonts in order of preference: each character comes from the first font that has it. Unreadable files are skipped
    /// with a warning. Without any font the built-in bitmap font is used.
    TextRaster(const std::vector<std::string>& regular, const std::vector<std::string>& bold);
    ~TextRaster();

    /// The shared raster: VANTAGE_FONT, then installed fonts. Fonts are searched once.
    static const TextRaster& shared();

    bool built_in() const;  ///< whether no font file was found
    TextExtent measure(std::string_view text, const TextStyle& style) const;
    /// `at`: left end of the baseline. Returns the covered rectangle. `upwards`: rotated by 90°, read from bottom to
    /// top; `at` is the lower end of the baseline, and letters are to its left.
    Rect draw(Image& image, Point at, std::string_view text, const TextStyle& style, bool upwards = false) const;
    Rect draw_upwards(Image& image, Point at, std::string_view text, const TextStyle& style) const {
        return draw(image, at, text, style, true);
    }
    /// The longest prefix that fits, with "…" if it is shortened.
    std::string fitted(std::string_view text, const TextStyle& style, int width) const;

private:
    class Fonts;
    std::unique_ptr<Fonts> fonts_;
};

}  // namespace vantage::internal
