#include "runtime/io/image.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"

namespace vantage::internal {

namespace {
constexpr int longest_side = 1 << 15;
constexpr std::size_t rows_in_work = std::size_t{4} << 20;  ///< of a decoder, for the longest rows
}  // namespace

Rgb mixed(Rgb a, Rgb b, float share) {
    const auto mix = [share](std::uint8_t from, std::uint8_t to) {
        const float value = static_cast<float>(from) + (static_cast<float>(to) - static_cast<float>(from)) * share;
        return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0f, 255.0f)));
    };
    return {mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)};
}

Image::Image(int width_in, int height_in, Rgb background) : width(width_in), height(height_in) {
    if (width < 0 || height < 0 || width > longest_side || height > longest_side)
        throw usage_error("a picture of {} × {} pixels: at most {} a side are possible", width, height, longest_side);
    rgb.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
    fill(*this, {0, 0, width, height}, background);
}

Image image_of_file(const std::string& path, const ImageHeader& h) {
    if (h.width < 1 || h.height < 1 || h.width > longest_side || h.height > longest_side ||
        h.width * h.height > max_pixels_read)
        throw bad_file_error("cannot read the picture '{}': it has {} × {} pixels, wanted at most {}, and {} a side",
                             path, h.width, h.height, max_pixels_read, longest_side);
    const std::size_t pixels = static_cast<std::size_t>(h.width * h.height) * 3;
    const std::size_t needed = h.file_bytes + pixels + h.working_bytes + rows_in_work;
    const std::size_t allowed = 10 * h.file_bytes + (std::size_t{64} << 20);
    if (needed > allowed)
        throw bad_file_error(
            "cannot read the picture '{}': decoding its {} × {} pixels takes {} bytes of memory, wanted "
            "at most {} for a file of {} bytes",
            path, h.width, h.height, needed, allowed, h.file_bytes);
    return {static_cast<int>(h.width), static_cast<int>(h.height), Rgb{}};
}

Rgb Image::at(int x, int y) const {
    const std::size_t i = offset(x, y);
    return {rgb[i], rgb[i + 1], rgb[i + 2]};
}

void Image::set(int x, int y, Rgb colour) {
    if (!has(x, y)) return;
    const std::size_t i = offset(x, y);
    rgb[i] = colour.r;
    rgb[i + 1] = colour.g;
    rgb[i + 2] = colour.b;
}

void Image::blend(int x, int y, Rgb colour, std::uint8_t coverage) {
    if (coverage == 0 || !has(x, y)) return;
    set(x, y, mixed(at(x, y), colour, static_cast<float>(coverage) / 255.0f));
}

void fill(Image& image, const Rect& rect, Rgb colour) {
    const int right = std::min(rect.right(), image.width), bottom = std::min(rect.bottom(), image.height);
    for (int y = std::max(rect.y, 0); y < bottom; ++y)
        for (int x = std::max(rect.x, 0); x < right; ++x) image.set(x, y, colour);
}

void frame(Image& image, const Rect& rect, Rgb colour, int thickness) {
    const int t = std::min({thickness, rect.width, rect.height});
    fill(image, {rect.x, rect.y, rect.width, t}, colour);
    fill(image, {rect.x, rect.bottom() - t, rect.width, t}, colour);
    fill(image, {rect.x, rect.y, t, rect.height}, colour);
    fill(image, {rect.right() - t, rect.y, t, rect.height}, colour);
}

}  // namespace vantage::internal
