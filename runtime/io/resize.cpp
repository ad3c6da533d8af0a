#include "runtime/io/resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "runtime/base/at.h"

namespace vantage::internal {

namespace {

// ---- filters: the weight of a pixel at distance x, for |x| < support -----------------------------------------------

struct Filter {
    double support;
    double (*at)(double x);
};

double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }
double triangle(double x) { return std::max(1 - std::abs(x), 0.0); }
double sinc(double x) { return x == 0 ? 1 : std::sin(x * std::numbers::pi) / (x * std::numbers::pi); }
double hamming(double x) {
    x = std::abs(x);
    return x >= 1 ? 0 : sinc(x) * (0.54 + 0.46 * std::cos(x * std::numbers::pi));
}
double lanczos(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }
double cubic(double x) {  // Keys, "Cubic Convolution Interpolation for Digital Image Processing" (1981), a = -1/2
    constexpr double a = -0.5;
    x = std::abs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

Filter filter_of(Resampling how) {
    switch (how) {
        case Resampling::lanczos: return {3, lanczos};
        case Resampling::bicubic: return {2, cubic};
        case Resampling::box: return {0.5, box};
        case Resampling::hamming: return {1, hamming};
        case Resampling::nearest:
        case Resampling::bilinear: break;
    }
    return {1, triangle};
}

// ---- one axis -------------------------------------------------------------------------------------------------------

// Of the fixed-point weights: leaves 8 bits for the pixel and 2 for sums of weights above 1.
constexpr int fraction_bits = 22;

/// The source pixels of one pixel of the result: from `first` on, with weights that sum to 1 << fraction_bits.
struct Window {
    int first = 0;
    std::vector<int> weights;
};

std::vector<Window> windows(int from, int to, const Filter& filter) {
    const double scale = static_cast<double>(from) / to, stretch = std::max(scale, 1.0), narrow = 1 / stretch,
                 reach = filter.support * stretch;
    std::vector<Window> all(static_cast<std::size_t>(to));
    std::vector<double> shares;
    for (int i = 0; i < to; ++i) {
        const double centre = (i + 0.5) * scale, left = centre - reach + 0.5, right = centre + reach + 0.5;
        const int first = std::max(static_cast<int>(left), 0), end = std::min(static_cast<int>(right), from);
        shares.clear();
        double sum = 0;
        for (int x = first; x < end; ++x) sum += shares.emplace_back(filter.at((x - centre + 0.5) * narrow));
        Window& window = at(all, i);
        window.first = first;
        for (const double share : shares) {
            const double weight = (sum != 0 ? share / sum : share) * (1 << fraction_bits);
            window.weights.push_back(static_cast<int>(weight < 0 ? weight - 0.5 : weight + 0.5));
        }
    }
    return all;
}

/// The weighted sum of bytes `stride` apart, rounded to a byte.
std::uint8_t weighed(const std::uint8_t* bytes, std::size_t stride, const std::vector<int>& weights) {
    int sum = 1 << (fraction_bits - 1);
    for (const int weight : weights) {
        sum += *bytes * weight;
        bytes += stride;
    }
    return static_cast<std::uint8_t>(std::clamp(sum >> fraction_bits, 0, 255));
}

std::size_t row_bytes(const Image& image) { return static_cast<std::size_t>(image.width) * 3; }

Image resized_across(const Image& image, int width, const Filter& filter) {
    Image result(width, image.height, Rgb{});
    const std::vector<Window> all = windows(image.width, width, filter);
    std::uint8_t* to = result.rgb.data();
    for (int y = 0; y < image.height; ++y) {
        const std::uint8_t* row = image.rgb.data() + static_cast<std::size_t>(y) * row_bytes(image);
        for (const Window& window : all)
            for (int c = 0; c < 3; ++c) *to++ = weighed(row + window.first * 3 + c, 3, window.weights);
    }
    return result;
}

Image resized_down(const Image& image, int height, const Filter& filter) {
    Image result(image.width, height, Rgb{});
    std::uint8_t* to = result.rgb.data();
    for (const Window& window : windows(image.height, height, filter)) {
        const std::uint8_t* column = image.rgb.data() + static_cast<std::size_t>(window.first) * row_bytes(image);
        for (std::size_t i = 0; i < row_bytes(image); ++i)
            *to++ = weighed(column + i, row_bytes(image), window.weights);
    }
    return result;
}

// ---- the nearest pixel ----------------------------------------------------------------------------------------------

// Positions by repeated addition, as in Pillow: its rounding decides between two pixels.
std::vector<int> nearest_places(int from, int to) {
    const double scale = static_cast<double>(from) / to;
    double place = scale * 0.5;
    std::vector<int> all;
    for (int i = 0; i < to; ++i, place += scale) all.push_back(std::min(static_cast<int>(place), from - 1));
    return all;
}

Image nearest(const Image& image, int width, int height) {
    Image result(width, height, Rgb{});
    const std::vector<int> columns = nearest_places(image.width, width), rows = nearest_places(image.height, height);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) result.set(x, y, image.at(at(columns, x), at(rows, y)));
    return result;
}

}  // namespace

Image resized(const Image& image, int width, int height, Resampling how) {
    if (how == Resampling::nearest) return nearest(image, width, height);
    const Filter filter = filter_of(how);
    Image result = width == image.width ? image : resized_across(image, width, filter);
    return height == result.height ? result : resized_down(result, height, filter);
}

}  // namespace vantage::internal
