#include "runtime/base/npy.h"

#include <bit>
#include <cstdint>

#include "runtime/base/format.h"

namespace vantage::internal {

std::string npy_file(const Shape& shape, std::span<const float> values) {
    std::string sizes = join(shape.sizes(), ", ", [](std::int64_t size) { return std::to_string(size); });
    if (shape.rank() == 1) sizes += ',';  // a Python tuple of one
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + sizes + "), }";
    constexpr std::size_t before = 10;  // magic, version and the header's length
    while ((before + header.size() + 1) % 64 != 0) header += ' ';
    header += '\n';

    std::string file("\x93NUMPY\x01\x00", 8);
    file += static_cast<char>(header.size() & 0xff);
    file += static_cast<char>(header.size() >> 8);
    file += header;
    file.reserve(file.size() + values.size_bytes());
    for (const float value : values)
        for (int byte = 0; byte < 4; ++byte)
            file += static_cast<char>(std::bit_cast<std::uint32_t>(value) >> (8 * byte) & 0xff);
    return file;
}

}  // namespace vantage::internal
