// PNG files, with texts inside that say what the picture shows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/io/image.h"

namespace vantage {

/// Key ("Title", "Vantage-Layer", …: 1 to 79 Latin letters) and UTF-8 text.
using PngTexts = std::vector<std::pair<std::string, std::string>>;

/// The bytes of a PNG file.
std::string encode_png(const Image& image, const PngTexts& texts = {});
/// Writes it whole or not at all. Throws bad_file.
void write_png(const std::string& path, const Image& image, const PngTexts& texts = {});

struct PngContent {
    Image image;
    PngTexts texts;
};
/// Reads any PNG as 8-bit RGB, without its transparency. Throws bad_file naming `path`: damaged, cut off, too large.
PngContent decode_png(std::string bytes, const std::string& path);
PngContent read_png(const std::string& path);

}  // namespace vantage
