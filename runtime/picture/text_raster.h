// Text in pictures: FreeType with DejaVu Sans, or dots when the machine has no font.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/picture/font_files.h"

namespace vantage {

/// Size of the letters (their em) in pixels.
struct TextStyle {
    int pixels = 13;
    Rgb colour;
    TextWeight weight = TextWeight::regular;
};

/// Pixels from the left edge to the end, above the baseline, and below it. Height depends on the style alone.
struct TextExtent {
    int width = 0, ascent = 0, descent = 0;
    int height() const { return ascent + descent; }
};

/// Draws UTF-8. A character that no font has is shown as its number, small: U+1F600. Safe to use from several threads.
class TextRaster {
public:
    /// Fonts in order of preference: a character comes from the first that has it. A file that cannot be
    /// read is passed over with a warning; with none left, the built-in dots are used.
    TextRaster(const std::vector<std::string>& regular, const std::vector<std::string>& bold);
    ~TextRaster();
    TextRaster(const TextRaster&) = delete;
    TextRaster& operator=(const TextRaster&) = delete;

    /// With VANTAGE_FONT first, then the fonts that are installed; looked for once.
    static const TextRaster& shared();

    bool built_in() const;  ///< no font file was found
    TextExtent measure(std::string_view text, const TextStyle& style) const;
    /// `at` is the left end of the baseline. Returns what was covered.
    Rect draw(Image& image, Point at, std::string_view text, const TextStyle& style) const;
    /// Turned by 90°, read from bottom to top: `at` is the lower end of the baseline, the letters stand to its left.
    Rect draw_upwards(Image& image, Point at, std::string_view text, const TextStyle& style) const;
    /// The longest beginning that fits, with "…" when something is left out.
    std::string fitted(std::string_view text, const TextStyle& style, int width) const;

private:
    class Fonts;
    std::unique_ptr<Fonts> fonts_;
};

}  // namespace vantage
