// JPEG files.
#pragma once

#include <string>

#include "runtime/io/image.h"

namespace vantage::internal {

/// Decodes a JPEG file to 8-bit RGB. Grey and CMYK (Adobe's inverted form) are converted. An Exif orientation is not
/// applied, as in Pillow's `open`. Throws bad_file with `path` if the file is damaged, truncated or too large.
Image decode_jpeg(const std::string& bytes, const std::string& path);

}  // namespace vantage::internal
