#include "runtime/exec/upload_weight.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/base/background.h"
#include "runtime/base/errors.h"
#include "runtime/base/finite.h"
#include "runtime/base/quantize.h"
#include "runtime/gpu/transfer.h"

namespace vantage::internal {

namespace {

// Rows [first, first + rows) of a matrix [out, in] from one that is stored as [in, out].
void turn(std::span<const std::byte> matrix, std::size_t size, std::size_t out, std::size_t first, std::size_t rows,
          std::span<std::byte> to) {
    const std::size_t in = to.size() / (rows * size);
    for (std::size_t i = 0; i < in; ++i)
        for (std::size_t r = 0; r < rows; ++r)
            std::memcpy(to.data() + (r * in + i) * size, matrix.data() + (i * out + first + r) * size, size);
}

template <class Word, class Widen>
void widen_each(std::span<const std::byte> from, std::span<float> to, Widen widen) {
    for (std::size_t i = 0; i < to.size(); ++i) {
        Word word;
        std::memcpy(&word, from.data() + i * sizeof(Word), sizeof(Word));
        to[i] = widen(word);
    }
}
template <class Word, class Narrow>
void narrow_each(std::span<const float> from, std::span<std::byte> to, Narrow narrow) {
    for (std::size_t i = 0; i < from.size(); ++i) {
        const Word word = narrow(from[i]);
        std::memcpy(to.data() + i * sizeof(Word), &word, sizeof(Word));
    }
}

void widen(DType from, std::span<const std::byte> bytes, std::span<float> values) {
    if (is_quantized(from)) dequantize(from, bytes, values);
    if (from == DType::f32) widen_each<float>(bytes, values, [](float v) { return v; });
    if (from == DType::f16) widen_each<std::uint16_t>(bytes, values, half_to_float);
    if (from == DType::bf16) widen_each<std::uint16_t>(bytes, values, bfloat_to_float);
}

// Elements of one float type as those of another, or quantised.
void convert(DType from, std::span<const std::byte> bytes, DType type, std::span<std::byte> to) {
    // the last group of quantised ones may hold fewer than it has room for
    std::vector<float> values(std::min(bytes.size() / info(from).bytes * info(from).elements,
                                       to.size() / info(type).bytes * info(type).elements));
    widen(from, bytes, values);
    if (is_quantized(type)) return quantize(type, values, to);
    if (type == DType::f32) narrow_each<float>(values, to, [](float v) { return v; });
    if (type == DType::f16) narrow_each<std::uint16_t>(values, to, float_to_half);
    if (type == DType::bf16) narrow_each<std::uint16_t>(values, to, float_to_bfloat);
    constexpr float first_infinity = 65520;  // rounds to it in f16
    if (type == DType::f16 &&
        std::ranges::any_of(values, [](float v) { return std::isfinite(v) && std::abs(v) >= first_infinity; }))
        throw unsupported_error("a weight is beyond the 65504 of f16: take bf16 or f32");
}

// The same by two threads, or by this one where there is no other. Halves meet between groups of quantised elements.
void convert_in_two(DType from, std::span<const std::byte> bytes, DType type, std::span<std::byte> to) {
    const std::size_t elements = bytes.size() / info(from).bytes * info(from).elements,
                      group = std::max(info(type).elements, info(from).elements), half = elements / 2 / group * group,
                      read = half / info(from).elements * info(from).bytes,
                      made = half / info(type).elements * info(type).bytes;
    const Background first([&](const std::stop_token&) { convert(from, bytes.first(read), type, to.first(made)); });
    convert(from, bytes.subspan(read), type, to.subspan(made));
    first.wait();
}

}  // namespace

void upload_weight(gpu::DeviceState& device, const gpu::Buffer& to, std::uint64_t offset, const TensorType& type,
                   DType from, bool turned, std::uint64_t bytes, const gpu::FillBytes& read) {
    if (from == type.dtype && !turned) return gpu::upload(device, to, offset, bytes, read);
    const Shape& shape = type.shape;
    const DTypeInfo& read_as = info(from);
    const std::size_t size = read_as.bytes, in = shape.rank() > 0 ? static_cast<std::size_t>(shape[-1]) : 1;
    const auto bytes_of = [&](std::size_t elements) {  // the last group may be a part of one
        return (elements + read_as.elements - 1) / read_as.elements * size;
    };
    const std::size_t held = std::min<std::size_t>(bytes / size * read_as.elements,
                                                   static_cast<std::size_t>(shape.elements())),
                      out = turned ? static_cast<std::size_t>(shape[-2]) : held / std::max<std::size_t>(in, 1),
                      matrix_bytes = bytes_of(out * in);
    if (matrix_bytes == 0) return;
    const auto place = [&](std::size_t element) {
        return offset + element / info(type.dtype).elements * info(type.dtype).bytes;
    };
    // so many rows of blocks of 32 are whole groups
    const std::size_t whole_groups = std::max<std::size_t>({info(type.dtype).elements, read_as.elements, 32}) / 32,
                      rows_each = std::max<std::size_t>(
                                      1, (std::size_t{4} << 20) / std::max<std::size_t>(in, 1) / whole_groups) *
                                  whole_groups;
    std::vector<std::byte> whole(turned ? matrix_bytes : 0), block, converted;
    for (std::size_t matrix = 0; matrix < bytes; matrix += matrix_bytes) {
        if (turned) read(matrix, whole);
        for (std::size_t first = 0; first < out; first += rows_each) {
            const std::size_t rows = std::min(rows_each, out - first);
            block.resize(bytes_of(rows * in));
            if (turned)
                turn(whole, size, out, first, rows, block);
            else
                read(matrix + bytes_of(first * in), block);
            std::span<const std::byte> part = block;
            if (from != type.dtype) {
                converted.resize(static_cast<std::size_t>(
                    TensorType{Shape{static_cast<std::int64_t>(rows), shape[-1]}, type.dtype}.bytes()));
                convert_in_two(from, part, type.dtype, converted);
                part = converted;
            }
            gpu::upload(device, to, place(matrix / size * read_as.elements + first * in), part);
        }
    }
}

void upload_weight(gpu::DeviceState& device, const gpu::Buffer& to, std::uint64_t offset, const TensorType& type,
                   DType from, bool turned, std::span<const std::byte> bytes) {
    upload_weight(device, to, offset, type, from, turned, bytes.size(),
                  [&](std::uint64_t first, std::span<std::byte> piece) {
                      std::memcpy(piece.data(), bytes.data() + first, piece.size());
                  });
}

// By way of a block that fits the cache: the host should not read memory of the device.
void upload_weight(gpu::DeviceState& device, const gpu::Buffer& to, std::uint64_t offset, const TensorType& type,
                   DType from, bool turned, const ByteSource& source, const std::string& name, bool minus_infinity) {
    std::vector<std::uint64_t> block;
    const auto read = [&](std::uint64_t first, std::span<std::byte> piece) {
        for (std::size_t done = 0; done < piece.size();) {
            const std::span<std::byte> some = piece.subspan(done, std::min<std::size_t>(piece.size() - done, 1 << 18));
            block.resize((some.size() + 7) / 8);
            block.back() = 0;
            const std::span<std::byte> bytes = std::as_writable_bytes(std::span(block)).first(some.size());
            source.read(first + done, bytes);
            const std::size_t element = first_not_finite(block, from, minus_infinity);
            if (element < bytes.size() / info(from).bytes)
                throw bad_file_error("{}: element {} is not finite; is the file damaged?", name,
                                     (first + done) / info(from).bytes + element);
            std::memcpy(some.data(), bytes.data(), bytes.size());
            done += some.size();
        }
    };
    try {
        upload_weight(device, to, offset, type, from, turned, source.size(), read);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::unsupported) throw;
        throw unsupported_error(name + ": " + error.what());
    }
}

}  // namespace vantage::internal
