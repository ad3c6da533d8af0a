#include "runtime/picture/jpeg.h"

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it in front

#include <jerror.h>
#include <jpeglib.h>

#include "runtime/base/errors.h"
#include "runtime/base/log.h"

// libjpeg reports errors by longjmp, which skips destructors. So the functions that call setjmp own nothing: their data
// is in a struct of the caller.
namespace vantage::internal {
namespace {

constexpr int max_scans = 500;  // a progressive file of a few kilobytes can ask for millions

struct JpegReader : NotCopied {
    jpeg_decompress_struct jpeg{};
    jpeg_error_mgr errors{};
    jpeg_progress_mgr progress{};
    std::jmp_buf failed{};
    char reason[JMSG_LENGTH_MAX] = "";
    Image image;
    std::vector<std::uint8_t> inks;  // one row of CMYK

    ~JpegReader() { jpeg_destroy_decompress(&jpeg); }
};

JpegReader& reader_of(j_common_ptr jpeg) { return *static_cast<JpegReader*>(jpeg->client_data); }

[[noreturn]] void give_up(j_common_ptr jpeg) {
    jpeg->err->format_message(jpeg, reader_of(jpeg).reason);
    std::longjmp(reader_of(jpeg).failed, 1);
}

// Level −1 is a warning, other levels are traces. A warning is an error, because libjpeg fills missing parts with grey.
void on_message(j_common_ptr jpeg, int level) {
    if (level >= 0) return;
    if (jpeg->err->msg_code == JWRN_JPEG_EOF || jpeg->err->msg_code == JWRN_HIT_MARKER) give_up(jpeg);
    if (jpeg->err->num_warnings++ > 0) return;
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    log(LogLevel::debug, "libjpeg: {}", text);
}

void on_progress(j_common_ptr jpeg) {
    if (reader_of(jpeg).jpeg.input_scan_number <= max_scans) return;
    std::snprintf(reader_of(jpeg).reason, JMSG_LENGTH_MAX, "it has more than %d scans", max_scans);
    std::longjmp(reader_of(jpeg).failed, 1);
}

bool read_jpeg_header(JpegReader& r, const std::string& bytes) {
    if (setjmp(r.failed) != 0) return false;
    jpeg_create_decompress(&r.jpeg);
    r.jpeg.progress = &r.progress;
    jpeg_mem_src(&r.jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&r.jpeg, TRUE);
    const bool inks = r.jpeg.jpeg_color_space == JCS_CMYK || r.jpeg.jpeg_color_space == JCS_YCCK;
    r.jpeg.out_color_space = inks ? JCS_CMYK : JCS_RGB;
    return true;
}

// Stored as 255 − ink, like in Adobe's files: the remaining light after ink and black.
void mix_inks(const std::vector<std::uint8_t>& inks, std::uint8_t* rgb) {
    for (std::size_t i = 0; i + 3 < inks.size(); i += 4)
        for (std::size_t c = 0; c < 3; ++c) *rgb++ = static_cast<std::uint8_t>((inks[i + c] * inks[i + 3] + 127) / 255);
}

bool read_jpeg_pixels(JpegReader& r) {
    if (setjmp(r.failed) != 0) return false;
    jpeg_start_decompress(&r.jpeg);
    while (r.jpeg.output_scanline < r.jpeg.output_height) {
        std::uint8_t* rgb = r.image.rgb.data() + std::size_t{r.jpeg.output_scanline} * r.jpeg.output_width * 3;
        std::uint8_t* row = r.inks.empty() ? rgb : r.inks.data();
        jpeg_read_scanlines(&r.jpeg, &row, 1);
        if (!r.inks.empty()) mix_inks(r.inks, rgb);
    }
    return true;
}

/// A file of several scans is decoded from the coefficients of all its blocks, 8 × 8 values of 16 bits.
std::size_t coefficient_bytes(JpegReader& r) {
    if (jpeg_has_multiple_scans(&r.jpeg) == FALSE) return 0;
    std::size_t blocks = 0;
    for (int i = 0; i < r.jpeg.num_components; ++i)
        blocks += std::size_t{r.jpeg.comp_info[i].width_in_blocks} * r.jpeg.comp_info[i].height_in_blocks;
    return blocks * sizeof(JBLOCK);
}

[[noreturn]] void throw_damaged_jpeg(const JpegReader& r, const std::string& path) {
    throw bad_file_error("cannot read the picture '{}': {}", path, r.reason);
}

}  // namespace

Image decode_jpeg(const std::string& bytes, const std::string& path) {
    JpegReader r;
    r.jpeg.err = jpeg_std_error(&r.errors);
    r.jpeg.client_data = &r;
    r.errors.error_exit = give_up;
    r.errors.emit_message = on_message;
    r.progress.progress_monitor = on_progress;
    if (!read_jpeg_header(r, bytes)) throw_damaged_jpeg(r, path);
    r.image = image_of_file(path, {.width = r.jpeg.image_width,
                                   .height = r.jpeg.image_height,
                                   .file_bytes = bytes.size(),
                                   .working_bytes = coefficient_bytes(r)});
    if (r.jpeg.out_color_space == JCS_CMYK) r.inks.resize(std::size_t{r.jpeg.image_width} * 4);
    if (!read_jpeg_pixels(r)) throw_damaged_jpeg(r, path);
    return std::move(r.image);
}

}  // namespace vantage::internal
