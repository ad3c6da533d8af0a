// Pictures in another size, byte for byte as Pillow makes them: what image models were trained on.
#pragma once

#include <cstdint>

#include "runtime/io/image.h"

namespace vantage {

/// How the pixels around a place are weighed. The numbers are Pillow's, and those of preprocessor_config.json.
enum class Resampling : std::uint8_t { nearest, lanczos, bilinear, bicubic, box, hamming };

/// In another size, at least 1 × 1. Where that is smaller, all pixels count (no aliasing), except with `nearest`.
Image resized(const Image& image, int width, int height, Resampling how);

}  // namespace vantage
