// Pictures from files, for models that look at them.
#pragma once

#include <string>

#include "runtime/io/image.h"

namespace vantage {

/// A PNG or a JPEG, told by its first bytes, as 8-bit RGB: grey and palettes are converted, transparency is left out, of 16
/// bits the upper ones count, and an Exif orientation is not applied. Throws bad_file naming the file.
Image read_image(const std::string& path);

}  // namespace vantage
