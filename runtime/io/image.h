// A picture in memory, and rectangles in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// An sRGB colour.
struct Rgb {
    std::uint8_t r = 0, g = 0, b = 0;
    bool operator==(const Rgb&) const = default;
};

/// `share` = 0 gives `a`, 1 gives `b`.
Rgb mixed(Rgb a, Rgb b, float share);

struct Point {
    int x = 0, y = 0;
};

struct Rect {
    int x = 0, y = 0, width = 0, height = 0;
    int right() const { return x + width; }    ///< first column outside
    int bottom() const { return y + height; }  ///< first row outside
    bool overlaps(const Rect& other) const {
        return x < other.right() && other.x < right() && y < other.bottom() && other.y < bottom();
    }
    bool contains(const Rect& other) const {
        return x <= other.x && y <= other.y && other.right() <= right() && other.bottom() <= bottom();
    }
    Rect grown(int by) const { return {x - by, y - by, width + 2 * by, height + 2 * by}; }
};

/// sRGB bytes, row-major, top row first, without padding. Drawing outside of the image is clipped.
struct Image {
    int width = 0, height = 0;
    std::vector<std::uint8_t> rgb;

    Image() = default;
    Image(int width_in, int height_in, Rgb background);
    bool has(int x, int y) const { return x >= 0 && y >= 0 && x < width && y < height; }
    Rgb at(int x, int y) const;  ///< must be inside the image
    void set(int x, int y, Rgb colour);
    /// `coverage` 255 replaces the pixel, 0 leaves it.
    void blend(int x, int y, Rgb colour, std::uint8_t coverage);

private:
    std::size_t offset(int x, int y) const {
        return (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)) * 3;
    }
};

/// The largest number of pixels of an image file: protects against decompression bombs.
inline constexpr std::int64_t max_pixels_read = std::int64_t{1} << 26;
/// What an image file states of itself before its pixels are decoded.
struct ImageHeader {
    std::int64_t width = 0, height = 0;
    std::size_t file_bytes = 0;     ///< the size of the file
    std::size_t working_bytes = 0;  ///< what the decoder keeps beside the pixels
};
/// An image of the size that a file states. Throws bad_file naming the file if it is empty or too large, or if decoding
/// takes more than 10 times the file and 64 MiB of memory. Photos stay far below that.
Image image_of_file(const std::string& path, const ImageHeader& header);

void fill(Image& image, const Rect& rect, Rgb colour);
/// A frame of `thickness` pixels just inside `rect`.
void frame(Image& image, const Rect& rect, Rgb colour, int thickness = 1);

}  // namespace vantage::internal
