// JPEG files.
#pragma once

#include <string>

#include "runtime/io/image.h"

namespace vantage {

/// The picture in the bytes of a JPEG file, as 8-bit RGB; grey and CMYK (as Adobe stores it) are converted. An orientation in
/// its Exif data is not applied, as Pillow's `open` does not. Throws bad_file naming `path`: damaged, cut off, too large.
Image decode_jpeg(const std::string& bytes, const std::string& path);

}  // namespace vantage
