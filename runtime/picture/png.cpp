#include "runtime/picture/png.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include "runtime/base/utf8.h"
#include "runtime/picture/shown_text.h"

// libpng reports errors by longjmp, which skips destructors. So the functions that call setjmp own nothing: their data
// is in a struct of the caller.
namespace vantage::internal {
namespace {

// Limits for texts and profiles, which can be compressed. libpng has them, and texts_of copies them.
constexpr std::size_t most_texts = 32, longest_text = std::size_t{1} << 18;

struct PngFile : NotCopied {
    png_structp png = nullptr;
    png_infop info = nullptr;
    std::string bytes, error;
    std::vector<std::uint8_t*> rows;
};

struct Writer : PngFile {
    PngTexts texts;
    std::vector<png_text> text_chunks;
    int width = 0, height = 0;
    ~Writer() { png_destroy_write_struct(&png, &info); }
};

struct Reader : PngFile {
    std::size_t position = 0;
    Image image;
    ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

void on_error(png_structp png, png_const_charp message) {
    *static_cast<std::string*>(png_get_error_ptr(png)) = message;
    png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp message) { log(LogLevel::debug, "libpng: {}", message); }

void append_bytes(png_structp png, png_bytep data, std::size_t size) {
    static_cast<Writer*>(png_get_io_ptr(png))->bytes.append(reinterpret_cast<const char*>(data), size);
}

void take_bytes(png_structp png, png_bytep data, std::size_t size) {
    Reader& reader = *static_cast<Reader*>(png_get_io_ptr(png));
    if (size > reader.bytes.size() - reader.position) png_error(png, "the file is truncated");
    std::memcpy(data, reader.bytes.data() + reader.position, size);
    reader.position += size;
}

/// Checks keys by libpng's rules; makes texts valid UTF-8 without NUL.
void prepare_texts(Writer& writer, const PngTexts& texts) {
    for (const auto& [key, text] : texts) {
        if (key.empty() || key.size() > 79)
            throw usage_error("PNG: the key of a text must have 1 to 79 characters: '{}'", key);
        std::string clean = repair_utf8(text);
        std::erase(clean, '\0');
        writer.texts.emplace_back(key, clean);
    }
    for (auto& [key, text] : writer.texts) {
        const bool ascii = std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) >= 0; });
        png_text chunk{};
        chunk.compression = ascii ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
        chunk.key = key.data();
        chunk.text = text.data();
        chunk.text_length = ascii ? text.size() : 0;
        chunk.itxt_length = ascii ? 0 : text.size();
        writer.text_chunks.push_back(chunk);
    }
}

bool encode(Writer& writer) {
    if (setjmp(png_jmpbuf(writer.png)) != 0) return false;
    png_set_write_fn(writer.png, &writer, append_bytes, nullptr);
    png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(writer.width),
                 static_cast<png_uint_32>(writer.height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(writer.png, writer.info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_set_text(writer.png, writer.info, writer.text_chunks.data(), static_cast<int>(writer.text_chunks.size()));
    png_write_info(writer.png, writer.info);
    png_write_image(writer.png, writer.rows.data());
    png_write_end(writer.png, writer.info);
    return true;
}

bool decode_header(Reader& reader) {
    if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
    png_set_read_fn(reader.png, &reader, take_bytes);
    png_set_chunk_cache_max(reader.png, most_texts);
    png_set_chunk_malloc_max(reader.png, longest_text);
    png_read_info(reader.png, reader.info);
    png_set_expand(reader.png);
    png_set_strip_16(reader.png);
    png_set_strip_alpha(reader.png);
    png_set_gray_to_rgb(reader.png);
    png_set_interlace_handling(reader.png);
    png_read_update_info(reader.png, reader.info);
    return true;
}

bool decode_pixels(Reader& reader) {
    if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
    png_read_image(reader.png, reader.rows.data());
    png_read_end(reader.png, reader.info);
    return true;
}

std::vector<std::uint8_t*> rows_of(Image& image) {
    std::vector<std::uint8_t*> rows;
    rows.reserve(static_cast<std::size_t>(image.height));
    const std::size_t stride = static_cast<std::size_t>(image.width) * 3;
    for (int y = 0; y < image.height; ++y) rows.push_back(image.rgb.data() + static_cast<std::size_t>(y) * stride);
    return rows;
}

PngTexts texts_of(const Reader& reader) {
    png_textp chunks = nullptr;
    int count = 0;
    png_get_text(reader.png, reader.info, &chunks, &count);
    PngTexts texts;
    for (int i = 0; i < count; ++i) {
        const bool international = chunks[i].compression >= PNG_ITXT_COMPRESSION_NONE;
        const std::size_t length = international ? chunks[i].itxt_length : chunks[i].text_length;
        texts.emplace_back(chunks[i].key, std::string(chunks[i].text, length));
    }
    return texts;
}

[[noreturn]] void throw_damaged(const std::string& path, const std::string& reason) {
    throw bad_file_error("cannot read the picture '{}': {}", path, reason);
}

}  // namespace

std::string encode_png(const Image& image, const PngTexts& texts) {
    Writer writer;
    writer.width = image.width;
    writer.height = image.height;
    prepare_texts(writer, texts);
    Image& pixels = const_cast<Image&>(image);  // libpng takes pointers to non-const rows, but only reads them
    writer.rows = rows_of(pixels);
    writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writer.error, on_error, on_warning);
    if (writer.png != nullptr) writer.info = png_create_info_struct(writer.png);
    if (writer.info == nullptr) throw Error(ErrorKind::out_of_memory, "no memory to encode a PNG");
    if (!encode(writer)) throw Error(ErrorKind::failure, "cannot encode a PNG: " + writer.error);
    return std::move(writer.bytes);
}

void write_png(const std::string& path, const Image& image, const PngTexts& texts) {
    write_file(path, encode_png(image, texts));
}

PngContent read_png(const std::string& path) { return decode_png(read_file(path), path); }

PngContent decode_png(std::string bytes, const std::string& path) {
    Reader reader;
    reader.bytes = std::move(bytes);
    reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader.error, on_error, on_warning);
    if (reader.png != nullptr) reader.info = png_create_info_struct(reader.png);
    if (reader.info == nullptr) throw Error(ErrorKind::out_of_memory, "no memory to decode a PNG");
    if (!decode_header(reader)) throw_damaged(path, reader.error);
    if (png_get_channels(reader.png, reader.info) != 3 || png_get_bit_depth(reader.png, reader.info) != 8)
        throw_damaged(path, "its pixels cannot be converted to RGB");
    reader.image = image_of_file(path, {.width = png_get_image_width(reader.png, reader.info),
                                        .height = png_get_image_height(reader.png, reader.info),
                                        .file_bytes = reader.bytes.size(),
                                        .working_bytes = 2 * most_texts * longest_text});
    reader.rows = rows_of(reader.image);
    if (!decode_pixels(reader)) throw_damaged(path, reader.error);
    return {std::move(reader.image), texts_of(reader)};
}

}  // namespace vantage::internal
