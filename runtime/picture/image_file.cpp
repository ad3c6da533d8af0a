#include "runtime/picture/image_file.h"

#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/picture/jpeg.h"
#include "runtime/picture/png.h"

namespace vantage::internal {

Image read_image(const std::string& path) {
    constexpr std::size_t largest = std::size_t{256} << 20;
    std::string bytes = read_file(path, largest);
    if (bytes.starts_with("\x89PNG")) return decode_png(std::move(bytes), path).image;
    if (bytes.starts_with("\xff\xd8\xff")) return decode_jpeg(bytes, path);
    throw bad_file_error("cannot read the picture '{}': it is neither a PNG nor a JPEG", path);
}

}  // namespace vantage::internal
