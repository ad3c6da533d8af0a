// The readers of PNG and JPEG on arbitrary bytes: they must return an image within the limits, or throw bad_file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/picture/jpeg.h"
#include "runtime/picture/png.h"
#include "tests/fuzz/heap_meter.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const HeapMeter meter;
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    try {
        const vantage::Image image = bytes.starts_with("\x89PNG") ? vantage::decode_png(bytes, "fuzz").image
                                                                  : vantage::decode_jpeg(bytes, "fuzz");
        const std::int64_t pixels = std::int64_t{image.width} * image.height;
        require(pixels > 0 && pixels <= vantage::max_pixels_read);
        require(image.rgb.size() == static_cast<std::size_t>(pixels) * 3);
    } catch (const vantage::Error& error) {
        require(error.kind() == vantage::ErrorKind::bad_file);
        require_message(error);
    }
    meter.require_at_most(memory_for(size));
    return 0;
}
