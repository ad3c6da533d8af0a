#include "runtime/picture/text_raster.h"

#include <ft2build.h>
#include FT_FREETYPE_H

#include <algorithm>
#include <array>
#include <mutex>

#include "runtime/base/at.h"
#include "runtime/base/log.h"
#include "runtime/base/utf8.h"
#include "runtime/picture/bitmap_font.h"
#include "runtime/picture/shown_text.h"

namespace vantage::internal {
namespace {

/// The coverage of a text; row `ascent` is the first one below the baseline.
struct Coverage {
    int width = 0, height = 0, ascent = 0;
    std::vector<std::uint8_t> dots;

    Coverage(int width_in, const TextExtent& line)
        : width(width_in),
          height(line.height()),
          ascent(line.ascent),
          dots(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {}
    std::uint8_t* at(int x, int y) {
        if (x < 0 || y < 0 || x >= width || y >= height) return nullptr;
        return &dots[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
    }
};

/// The replacement of a character that no font has.
std::string spelt_out(char32_t character) { return format("U+{:04X}", static_cast<unsigned>(character)); }

/// Replacements in the bitmap font for signs in Vantage's labels.
std::u32string_view ascii_for(char32_t character) {
    static constexpr std::pair<char32_t, std::u32string_view> replacements[] = {
        {U'·', U"."},  {U'…', U".."},  {U'√', U"sqrt"}, {U'×', U"x"},   {U'–', U"-"},  {U'—', U"-"},
        {U'␣', U"_"},  {U'↵', U"\\n"}, {U'⇥', U"\\t"},  {U'≤', U"<="},  {U'≥', U">="}, {U'→', U"->"},
        {U'“', U"\""}, {U'”', U"\""},  {U'’', U"'"},    {U'Σ', U"sum"}, {U'✓', U"ok"},
    };
    for (const auto& [sign, text] : replacements)
        if (sign == character) return text;
    return {};
}

}  // namespace

/// The font faces; may be empty. FreeType objects are used by one thread at a time.
class TextRaster::Fonts : NotCopied {
public:
    Fonts(const std::vector<std::string>& regular, const std::vector<std::string>& bold) {
        if (FT_Init_FreeType(&library_) != 0) library_ = nullptr;
        regular_ = open(regular);
        bold_ = open(bold);
        if (bold_.empty()) bold_ = regular_;
        if (regular_.empty()) {
            log(LogLevel::warning,
                "no font found, so labels use a bitmap font; install fonts-dejavu-core, or set VANTAGE_FONT to a .ttf "
                "file");
        }
    }
    ~Fonts() {
        if (library_ != nullptr) FT_Done_FreeType(library_);  // including its faces
    }

    bool none() const { return regular_.empty(); }

    TextExtent line(const TextStyle& style) const {
        if (none()) return {0, bitmap_glyph_height * dot(style) + 1, 2 * dot(style)};
        // Measured on letters: the font's own line height has space for stacked accents.
        return {0, (style.pixels * 19 + 19) / 20, (style.pixels + 3) / 4};
    }

    Coverage rasterize(std::string_view text, const TextStyle& style) {
        const std::lock_guard lock(mutex_);
        Pen measuring;
        put_text(measuring, text, style);
        Coverage coverage(std::max(measuring.x, measuring.right), line(style));
        Pen drawing;
        drawing.coverage = &coverage;
        put_text(drawing, text, style);
        return coverage;
    }

    int width(std::string_view text, const TextStyle& style) {
        const std::lock_guard lock(mutex_);
        Pen pen;
        put_text(pen, text, style);
        return std::max(pen.x, pen.right);
    }

private:
    /// Position of the next character. Without a coverage, nothing is drawn.
    struct Pen {
        int x = 0;
        int right = 0;  ///< end of the rightmost pixel
        Coverage* coverage = nullptr;
    };

    std::vector<FT_Face> open(const std::vector<std::string>& paths) {
        std::vector<FT_Face> faces;
        for (const std::string& path : paths) {
            FT_Face face = nullptr;
            const FT_Error error = library_ == nullptr ? 1 : FT_New_Face(library_, path.c_str(), 0, &face);
            if (error == 0)
                faces.push_back(face);
            else
                log(LogLevel::warning, "{}: cannot read this font (FreeType error {})", path, error);
        }
        return faces;
    }

    const std::vector<FT_Face>& faces(const TextStyle& style) const {
        return style.weight == TextWeight::bold ? bold_ : regular_;
    }

    static int dot(const TextStyle& style) { return std::max(1, (style.pixels + 4) / 10); }

    void put_text(Pen& pen, std::string_view text, const TextStyle& style) {
        for (const char32_t character : decode_utf8(text))
            if (none())
                put_dots_or_substitute(pen, character, style);
            else
                put_character(pen, character, style);
    }

    void put_character(Pen& pen, char32_t character, const TextStyle& style) {
        for (const FT_Face face : faces(style)) {
            const FT_UInt glyph = FT_Get_Char_Index(face, character);
            if (glyph == 0) continue;
            put_glyph(pen, face, glyph, style);
            return;
        }
        // A small label with space around it.
        TextStyle small = style;
        small.pixels = std::max(8, style.pixels * 6 / 10);
        pen.x += 1;
        for (const char letter : spelt_out(character)) {
            const FT_Face face = faces(style).front();
            put_glyph(pen, face, FT_Get_Char_Index(face, static_cast<FT_ULong>(letter)), small);
        }
        pen.x += 1;
    }

    static void put_glyph(Pen& pen, FT_Face face, FT_UInt glyph, const TextStyle& style) {
        FT_Set_Pixel_Sizes(face, 0, static_cast<FT_UInt>(style.pixels));
        if (FT_Load_Glyph(face, glyph, FT_LOAD_RENDER | FT_LOAD_TARGET_LIGHT) != 0) return;
        const FT_GlyphSlot slot = face->glyph;
        const FT_Bitmap& bitmap = slot->bitmap;
        const int left = std::max(0, pen.x + slot->bitmap_left);
        pen.right = std::max(pen.right, left + static_cast<int>(bitmap.width));
        if (pen.coverage != nullptr && bitmap.pixel_mode == FT_PIXEL_MODE_GRAY) {
            const int top = pen.coverage->ascent - slot->bitmap_top;
            for (int y = 0; y < static_cast<int>(bitmap.rows); ++y) {
                for (int x = 0; x < static_cast<int>(bitmap.width); ++x) {
                    std::uint8_t* to = pen.coverage->at(left + x, top + y);
                    if (to != nullptr) *to = std::max(*to, bitmap.buffer[y * bitmap.pitch + x]);
                }
            }
        }
        pen.x += static_cast<int>((slot->advance.x + 32) >> 6);
    }

    static void put_dots_or_substitute(Pen& pen, char32_t character, const TextStyle& style) {
        if (bitmap_glyph(character) != nullptr) return put_dots(pen, character, dot(style));
        if (const std::u32string_view substitute = ascii_for(character); !substitute.empty()) {
            for (const char32_t letter : substitute) put_dots(pen, letter, dot(style));
            return;
        }
        for (const char letter : spelt_out(character)) put_dots(pen, static_cast<char32_t>(letter), 1);
    }

    static void put_dots(Pen& pen, char32_t character, int dot) {
        const BitmapGlyph& glyph = *bitmap_glyph(character);
        for (int y = 0; y < bitmap_glyph_height * dot && pen.coverage != nullptr; ++y) {
            for (int x = 0; x < bitmap_glyph_width * dot; ++x) {
                const bool on = (at(glyph, y / dot) >> (4 - x / dot) & 1) != 0;
                const int top = pen.coverage->ascent - bitmap_glyph_height * dot;
                std::uint8_t* to = pen.coverage->at(pen.x + x, top + y);
                if (to != nullptr && on) *to = 255;
            }
        }
        pen.x += (bitmap_glyph_width + 1) * dot;
        pen.right = pen.x - dot;
    }

    std::mutex mutex_;
    FT_Library library_ = nullptr;
    std::vector<FT_Face> regular_, bold_;
};

TextRaster::TextRaster(const std::vector<std::string>& regular, const std::vector<std::string>& bold)
    : fonts_(std::make_unique<Fonts>(regular, bold)) {}

TextRaster::~TextRaster() = default;

const TextRaster& TextRaster::shared() {
    static const TextRaster raster(installed_fonts(TextWeight::regular), installed_fonts(TextWeight::bold));
    return raster;
}

bool TextRaster::built_in() const { return fonts_->none(); }

TextExtent TextRaster::measure(std::string_view text, const TextStyle& style) const {
    TextExtent extent = fonts_->line(style);
    extent.width = fonts_->width(text, style);
    return extent;
}

Rect TextRaster::draw(Image& image, Point at, std::string_view text, const TextStyle& style, bool upwards) const {
    Coverage coverage = fonts_->rasterize(text, style);
    const Rect box = upwards ? Rect{at.x - coverage.ascent, at.y - coverage.width + 1, coverage.height, coverage.width}
                             : Rect{at.x, at.y - coverage.ascent, coverage.width, coverage.height};
    for (int y = 0; y < coverage.height; ++y)
        for (int x = 0; x < coverage.width; ++x) {
            const Point to = upwards ? Point{box.x + y, at.y - x} : Point{box.x + x, box.y + y};
            image.blend(to.x, to.y, style.colour, *coverage.at(x, y));
        }
    return box;
}

std::string TextRaster::fitted(std::string_view text, const TextStyle& style, int width) const {
    return longest_fitting(text, [&](std::string_view part) { return fonts_->width(part, style) <= width; });
}

}  // namespace vantage::internal
