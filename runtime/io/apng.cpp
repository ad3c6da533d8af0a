#include "runtime/io/apng.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "runtime/base/log.h"
#include "vantage/error.h"

namespace vantage {

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
    return big_endian(static_cast<std::uint32_t>(data.size()), 4) + body + big_endian(checksum(body), 4);
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

// Each picture is encoded as a file of its own; the first gives the beginning of this one, all give their compressed pixels.
std::string encode_apng(const std::vector<Image>& pictures, double seconds_each, const PngTexts& texts) {
    if (pictures.empty()) throw Error(ErrorKind::usage, "an animation without a picture");
    const auto width = static_cast<std::uint32_t>(pictures[0].width),
               height = static_cast<std::uint32_t>(pictures[0].height);
    const auto milliseconds = static_cast<std::uint32_t>(std::clamp(std::round(1000 * seconds_each), 1.0, 65535.0));
    std::uint32_t sequence = 0;
    std::string file;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        const Image& picture = pictures[i];
        if (picture.width != pictures[0].width || picture.height != pictures[0].height)
            throw Error(ErrorKind::usage, format("picture %zu of an animation is %d × %d, the first %u × %u", i,
                                                 picture.width, picture.height, width, height));
        const std::string png = encode_png(picture, i == 0 ? texts : PngTexts());
        const std::string control =
            chunk("fcTL", big_endian(sequence++, 4) + big_endian(width, 4) + big_endian(height, 4) + big_endian(0, 4) +
                              big_endian(0, 4) + big_endian(milliseconds, 2) + big_endian(1000, 2) + big_endian(0, 1) +
                              big_endian(0, 1));
        bool pixels = false;
        for (const Chunk& one : chunks_of(png)) {
            const bool data = one.type == "IDAT";
            if (i == 0 && one.type == "IEND") continue;
            if (i > 0 && !data) continue;
            if (data && !std::exchange(pixels, true)) file += control;
            if (i > 0) {
                file += chunk("fdAT", big_endian(sequence++, 4) + std::string(one.data));
                continue;
            }
            file += one.whole;
            if (one.type == "IHDR")
                file += chunk("acTL", big_endian(static_cast<std::uint32_t>(pictures.size()), 4) + big_endian(0, 4));
        }
        if (i == 0) file.insert(0, png, 0, signature_bytes);
    }
    return file + chunk("IEND", "");
}

}  // namespace vantage
