// Reads image files.
#pragma once

#include <string>

#include "runtime/io/image.h"

namespace vantage::internal {

/// Reads a PNG or JPEG (decided by the first bytes) as 8-bit RGB. Grey and palettes are converted, transparency is
/// dropped, 16-bit values are cut to the upper 8 bits, an Exif orientation is not applied. Throws bad_file with the
/// path.
Image read_image(const std::string& path);

}  // namespace vantage::internal
