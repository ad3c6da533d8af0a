// The common style of pictures: colours, text styles, the header and the colour bar.
#pragma once

#include <string>
#include <vector>

#include "runtime/picture/attention_cells.h"
#include "runtime/picture/text_raster.h"

namespace vantage::internal::style {

inline constexpr Rgb background{22, 24, 31};
inline constexpr Rgb surface{37, 40, 51};    ///< empty cells: keys that the query does not see
inline constexpr Rgb line{58, 63, 79};       ///< frames and ticks
inline constexpr Rgb faint{142, 149, 168};   ///< axis titles, signs in labels
inline constexpr Rgb ink{212, 216, 227};     ///< labels
inline constexpr Rgb strong{243, 245, 250};  ///< the title
inline constexpr Rgb accent{72, 219, 205};   ///< highlights; not a colour of the maps
inline constexpr Rgb dark_number{24, 14, 30}, bright_number{232, 228, 240};  ///< numbers in bright and in dark cells
inline constexpr Rgb not_a_number{0, 229, 90};

inline constexpr int margin = 30, gap = 8, gap_before_bar = 28;
inline constexpr TextStyle title{21, strong, TextWeight::bold};
inline constexpr TextStyle caption{13, faint, TextWeight::regular};
inline constexpr TextStyle axis{13, faint, TextWeight::regular};
inline constexpr TextStyle label{13, ink, TextWeight::regular};
inline constexpr TextStyle tick{12, ink, TextWeight::regular};

/// A text and its position, for tests and for overlays.
struct PlacedText {
    std::string text;
    Rect box;
};

/// The number of a row's layer; of pictures with all layers, whose `layers` are empty, the row's.
inline std::int64_t layer_of_row(const std::vector<std::int64_t>& layers, int row) {
    return layers.empty() ? row : layers[static_cast<std::size_t>(row)];
}

/// Height of a line of letters.
int text_height(const TextStyle& style);
/// Wraps text to lines of at most `width` pixels. '\n' breaks a line; words that are too long end in "…".
std::vector<std::string> wrapped(const std::string& text, const TextStyle& style, int width);

/// Title and caption; both may be empty. Their height includes the space below.
int header_height(const std::string& title, const std::string& caption, int width);
void draw_header(Image& image, Point at, const std::string& title, const std::string& caption, int width,
                 std::vector<PlacedText>& placed);

/// Lines of small text below a map.
int notes_height(const std::vector<std::string>& notes, int width);
void draw_notes(Image& image, Point at, const std::vector<std::string>& notes, int width,
                std::vector<PlacedText>& placed);

/// The colour bar with ticks and name. `exceeded`: whether some weights are larger than the maximum.
inline constexpr int colour_bar_min_height = 150;
int colour_bar_width(const AttentionLook& look, bool exceeded);
void draw_colour_bar(Image& image, Point at, int height, const AttentionLook& look, bool exceeded,
                     std::vector<PlacedText>& placed);

}  // namespace vantage::internal::style
