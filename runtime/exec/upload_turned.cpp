#include "runtime/exec/upload_turned.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/gpu/commands.h"

namespace vantage {

void upload_turned(gpu::DeviceState& device, const gpu::Buffer& to, std::uint64_t offset, const TensorType& type,
                   std::span<const std::byte> bytes) {
    const auto out = static_cast<std::size_t>(type.shape[-2]), in = static_cast<std::size_t>(type.shape[-1]);
    const std::size_t size = info(type.dtype).bytes, row = in * size,
                      rows_each = std::max<std::size_t>(1, (std::size_t{4} << 20) / std::max<std::size_t>(in, 1));
    std::vector<std::byte> block;
    for (std::size_t matrix = 0; matrix < bytes.size(); matrix += out * row)
        for (std::size_t first = 0; first < out; first += rows_each) {
            const std::size_t rows = std::min(rows_each, out - first);
            block.resize(rows * row);
            for (std::size_t i = 0; i < in; ++i)
                for (std::size_t r = 0; r < rows; ++r)
                    std::memcpy(block.data() + r * row + i * size, bytes.data() + matrix + (i * out + first + r) * size,
                                size);
            gpu::upload(device, to, offset + matrix + first * row, block);
        }
}

}  // namespace vantage
