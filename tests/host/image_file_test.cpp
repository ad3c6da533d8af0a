// Pictures from PNG and JPEG files: what Pillow makes of them, and files that are damaged, cut off, or traps.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>
#include <string>

#include "expect_error.h"
#include "runtime/base/files.h"
#include "runtime/io/safetensors.h"
#include "runtime/picture/image_file.h"
#include "temporary_directory.h"

using namespace vantage;
using vantage::test::expect_error;

namespace {

const std::string images = std::string(VANTAGE_ROOT) + "/tests/data/images/";

int largest_difference(const Image& got, const TensorEntry& want) {
    REQUIRE(std::vector<std::int64_t>{got.height, got.width, 3} == want.shape);
    const std::vector<std::byte> bytes = want.data.all();
    int worst = 0;
    for (std::size_t i = 0; i < got.rgb.size(); ++i)
        worst = std::max(worst, std::abs(got.rgb[i] - std::to_integer<int>(bytes[i])));
    return worst;
}

void put(std::string& bytes, std::size_t at, std::uint32_t value, int count) {
    for (int i = 0; i < count; ++i)
        bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * (count - 1 - i)));
}

/// A PNG that says another size of itself, with the checksum that goes with it.
std::string with_size(std::string png, std::uint32_t width, std::uint32_t height) {
    put(png, 16, width, 4);
    put(png, 20, height, 4);
    std::uint32_t crc = ~0u;
    for (std::size_t i = 12; i < 29; ++i) {
        crc ^= static_cast<unsigned char>(png[i]);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1u ? 0xedb88320u : 0u);
    }
    put(png, 29, ~crc, 4);
    return png;
}

struct Reader {
    test::TemporaryDirectory folder;
    std::string path = folder.path("picture");
    Image operator()(const std::string& bytes) const {
        write_file(path, bytes);
        return read_image(path);
    }
    void refuses(const std::string& bytes, const char* why) const {
        expect_error(ErrorKind::bad_file, {"cannot read the picture", path.c_str(), why}, [&] { (*this)(bytes); });
    }
};

}  // namespace

TEST_CASE("every kind of PNG and JPEG comes out as Pillow's RGB", "[image]") {
    const SafeTensors wanted(images + "kinds.safetensors");
    for (const auto& [name, entry] : wanted.entries()) {
        INFO(name);
        const std::string path = images + (name.starts_with("photo") ? "" : "kinds/") + name;
        // the standard leaves the last bit of the inverse cosine transform open, and versions of libjpeg use that;
        // halved colour planes are interpolated on top, and colours made of three such numbers
        CHECK(largest_difference(read_image(path), entry) <= (name.ends_with(".jpg") ? 3 : 0));
    }
}

TEST_CASE("pictures that are cut off are refused, wherever that is", "[image][bad]") {
    const Reader read;
    for (const char* name : {"photo.png", "photo.jpg", "kinds/progressive.jpg", "kinds/palette.png"}) {
        const std::string whole = read_file(images + name);
        for (std::size_t length = 0; length + 24 < whole.size(); length += 1 + whole.size() / 40) {
            INFO(name << " of " << length << " bytes");
            read.refuses(whole.substr(0, length), "");
        }
    }
    read.refuses("", "neither a PNG nor a JPEG");
    read.refuses("GIF89a", "neither a PNG nor a JPEG");
    expect_error(ErrorKind::bad_file, {"nowhere.png"}, [&] { read_image(read.folder.path("nowhere.png")); });
}

TEST_CASE("pictures with damaged bytes are read or refused, and nothing else", "[image][bad]") {
    const Reader read;
    std::uint32_t random = 1;
    int refused = 0;
    for (const char* name :
         {"photo.png", "photo.jpg", "kinds/progressive.jpg", "kinds/cmyk.jpg", "kinds/palette.png"}) {
        const std::string whole = read_file(images + name);
        for (int trial = 0; trial < 200; ++trial) {
            std::string damaged = whole;
            for (int change = 0; change < 1 + trial % 3; ++change) {
                random = random * 1664525u + 1013904223u;
                damaged[3 + (random >> 8) % (damaged.size() - 3)] ^= static_cast<char>(1u << random % 8u);
            }
            try {
                const Image image = read(damaged);
                CHECK(std::ssize(image.rgb) == std::int64_t{image.width} * image.height * 3);
            } catch (const Error& error) {
                CHECK(error.kind() == ErrorKind::bad_file);
                CHECK(std::string(error.what()).find('\n') == std::string::npos);
                ++refused;
            }
        }
    }
    CHECK(refused > 200);  // every change of a PNG's pixels is seen by its checksums
}

TEST_CASE("pictures that would fill the memory or the day are refused", "[image][bad]") {
    const Reader read;
    const std::string png = read_file(images + "photo.png");
    CHECK(read(with_size(png, 53, 37)).width == 53);  // the checksum is right
    read.refuses(with_size(png, 0, 37), "");
    read.refuses(with_size(png, 30000, 30000), "30000 × 30000 pixels");
    read.refuses(with_size(png, 40000, 1), "40000 × 1 pixels");
    read.refuses(with_size(png, 3600, 3600), "Not enough image data");  // by libpng: 39 MB of pixels are allowed
    read.refuses(with_size(png, 4000, 4000), "decoding its 4000 × 4000 pixels takes");
    read.refuses(with_size(png, 0x7fffffff, 0x7fffffff), "");
    std::string jpeg = read_file(images + "photo.jpg");
    const std::size_t frame = jpeg.find("\xff\xc0");
    REQUIRE(frame != std::string::npos);
    put(jpeg, frame + 5, 65000, 2);
    put(jpeg, frame + 7, 65000, 2);
    read.refuses(jpeg, "65000 × 65000 pixels");
    put(jpeg, frame + 5, 8000, 2);
    put(jpeg, frame + 7, 60, 2);
    read.refuses(jpeg, "premature end");  // more rows than there is data for
    const std::string progressive = read_file(images + "kinds/progressive.jpg");
    std::string large = progressive;  // 36 MB of pixels, and the coefficients of them
    const std::size_t sizes = large.find("\xff\xc2");
    REQUIRE(sizes != std::string::npos);
    put(large, sizes + 5, 4000, 2);
    put(large, sizes + 7, 3000, 2);
    read.refuses(large, "4000 pixels takes");
    put(jpeg, frame + 5, 4000, 2);
    put(jpeg, frame + 7, 3000, 2);
    read.refuses(jpeg, "premature end");
    const std::size_t scan = progressive.find("\xff\xda"), end = progressive.find("\xff\xc4", scan);  // of all colours
    std::string scans = progressive.substr(0, end);
    for (int i = 0; i < 600; ++i) scans += progressive.substr(scan, end - scan);
    read.refuses(scans + progressive.substr(end), "more than 500 scans");
}
