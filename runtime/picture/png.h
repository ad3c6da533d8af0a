// PNG files with text chunks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/io/image.h"

namespace vantage::internal {

/// Keys ("Title", "Vantage-Layer", …: 1 to 79 Latin-1 characters) and UTF-8 texts.
using PngTexts = std::vector<std::pair<std::string, std::string>>;

/// The bytes of a PNG file.
std::string encode_png(const Image& image, const PngTexts& texts = {});
/// Replaces the file atomically. Throws bad_file.
void write_png(const std::string& path, const Image& image, const PngTexts& texts = {});

struct PngContent {
    Image image;
    PngTexts texts;
};
/// Decodes any PNG to 8-bit RGB without transparency. Throws bad_file with `path` if it is damaged, truncated or too
/// large.
PngContent decode_png(std::string bytes, const std::string& path);
PngContent read_png(const std::string& path);

}  // namespace vantage::internal
