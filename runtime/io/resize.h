// Image resizing, byte for byte as in Pillow, which image models were trained with.
#pragma once

#include <cstdint>

#include "runtime/io/image.h"

namespace vantage::internal {

/// Interpolation filters. The values are Pillow's, as in preprocessor_config.json.
enum class Resampling : std::uint8_t { nearest, lanczos, bilinear, bicubic, box, hamming };

/// Resizes to at least 1 × 1. When shrinking, every source pixel contributes (no aliasing), except with `nearest`.
Image resized(const Image& image, int width, int height, Resampling how);

}  // namespace vantage::internal
