#include "runtime/picture/apng.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"

namespace vantage::internal {

namespace {

constexpr std::size_t signature_bytes = 8;

std::string big_endian(std::uint32_t value, int bytes) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>((value >> (8 * i)) & 0xffu);
    return text;
}

/// The checksum that ends every chunk: CRC-32 of ISO 3309, reflected.
std::uint32_t checksum(std::string_view bytes) {
    std::uint32_t crc = 0xffffffffu;
    for (const char byte : bytes) {
        crc ^= static_cast<unsigned char>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1u ? 0xedb88320u : 0u);
    }
    return ~crc;
}

std::string chunk(const std::string& type, const std::string& data) {
    const std::string body = type + data;
    return big_endian(u32(data.size()), 4) + body + big_endian(checksum(body), 4);
}

struct Chunk {
    std::string_view type, data, whole;
};
std::vector<Chunk> chunks_of(std::string_view png) {
    std::vector<Chunk> chunks;
    for (std::size_t at = signature_bytes; at + 12 <= png.size();) {
        std::size_t size = 0;
        for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(png[at + i]);
        chunks.push_back({png.substr(at + 4, 4), png.substr(at + 8, size), png.substr(at, size + 12)});
        at += size + 12;
    }
    return chunks;
}

}  // namespace

ApngWriter::ApngWriter(const std::string& path, std::int64_t count, double seconds_each)
    : file_(path),
      count_(count),
      delay_(static_cast<std::uint32_t>(std::clamp(std::round(delay_unit * seconds_each), 1.0, 65535.0))) {
    if (count < 1) throw usage_error("animation: there are no pictures");
}

std::string ApngWriter::control() {
    return chunk("fcTL", big_endian(sequence_++, 4) + big_endian(width_, 4) + big_endian(height_, 4) +
                             big_endian(0, 4) + big_endian(0, 4) + big_endian(delay_, 2) + big_endian(delay_unit, 2) +
                             big_endian(0, 1) + big_endian(0, 1));
}

// The file begins like that of the first picture.
void ApngWriter::begin(const std::string& png) {
    std::string bytes = png.substr(0, signature_bytes);
    bool pixels = false;
    for (const Chunk& one : chunks_of(png)) {
        if (one.type == "IEND") continue;
        if (one.type == "IDAT" && !std::exchange(pixels, true)) bytes += control();
        bytes += one.whole;
        if (one.type == "IHDR") bytes += chunk("acTL", big_endian(u32(count_), 4) + big_endian(0, 4));
    }
    file_.write(bytes);
}

// Each picture is encoded as a PNG file, and its compressed pixels are copied.
void ApngWriter::add(const Image& picture, const PngTexts& texts) {
    const auto width = u32(picture.width), height = u32(picture.height);
    if (added_ == 0) width_ = width, height_ = height;
    if (width != width_ || height != height_)
        throw usage_error("animation: picture {} is {} × {}, but the first is {} × {}", added_, width, height, width_,
                          height_);
    if (added_++ == 0) return begin(encode_png(picture, texts));
    const std::string png = encode_png(picture);
    std::string bytes = control();
    for (const Chunk& one : chunks_of(png))
        if (one.type == "IDAT") bytes += chunk("fdAT", big_endian(sequence_++, 4) + std::string(one.data));
    file_.write(bytes);
}

void ApngWriter::finish() {
    if (added_ != count_) throw usage_error("animation: expected {} pictures, got {}", count_, added_);
    file_.write(chunk("IEND", ""));
    file_.finish();
}

}  // namespace vantage::internal
