// Image preprocessing: sizes as in Pillow, values as in transformers' ViTImageProcessor.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#include "expect_error.h"
#include "runtime/base/json.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/image_processor.h"
#include "runtime/picture/image_file.h"

using namespace vantage;
using vantage::test::expect_error;

namespace {

const std::string image_data = std::string(VANTAGE_ROOT) + "/tests/data/images/";

ImageInput input_of(std::int64_t channels, std::int64_t height, std::int64_t width) {
    return {.channels = channels, .height = height, .width = width, .patch_height = 1, .patch_width = 1};
}

}  // namespace

TEST_CASE("images are resized byte for byte as in Pillow", "[image]") {
    const Image photo = read_image(image_data + "photo.png");
    const std::map<std::string, Resampling> filters = {
        {"nearest", Resampling::nearest}, {"lanczos", Resampling::lanczos}, {"bilinear", Resampling::bilinear},
        {"bicubic", Resampling::bicubic}, {"box", Resampling::box},         {"hamming", Resampling::hamming}};
    const SafeTensors wanted(image_data + "resized.safetensors");
    CHECK(wanted.entries().size() == 30);
    for (const auto& [name, entry] : wanted.entries()) {
        INFO(name);
        const Image got = resized(photo, static_cast<int>(entry.shape[1]), static_cast<int>(entry.shape[0]),
                                  filters.at(name.substr(0, name.find(' '))));
        REQUIRE(got.rgb.size() == entry.data.size());
        CHECK(std::memcmp(got.rgb.data(), entry.data.all().data(), got.rgb.size()) == 0);
    }
    CHECK(resized(photo, 53, 37, Resampling::bicubic).rgb == photo.rgb);
}

TEST_CASE("preprocessor_config.json has the same effect as in transformers", "[image]") {
    const SafeTensors wanted(image_data + "processed.safetensors");
    const Json configs = read_json(image_data + "processors.json");
    for (const auto& [name, config] : configs.items()) {
        INFO(name);
        const TensorEntry& want = wanted.at(name);
        const Image photo = read_image(image_data + (name == "grey" ? "kinds/grey.png" : "photo.png"));
        const ImageProcessor processor = parse_image_processor(config.dump(), "p");
        const ImageInput input = input_of(want.shape[0], want.shape[1], want.shape[2]);
        const std::vector<float> got = processor.pixel_values(processor.framed(photo, input), input);
        REQUIRE(got.size() * sizeof(float) == want.data.size());
        double worst = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
            float value = 0;
            want.data.read(i * sizeof value, std::as_writable_bytes(std::span(&value, 1)));
            worst = std::max(worst, static_cast<double>(std::abs(got[i] - value)));
        }
        CHECK(worst <= 1e-6);  // the last bit of a number about 2
    }
}

TEST_CASE("a preprocessor_config.json that is unsupported, or does not fit the model, is rejected", "[image][bad]") {
    const auto refused = [](const char* text, const char* field, const char* why) {
        INFO(text);
        expect_error(ErrorKind::bad_file, {"p.json: ", field, why}, [&] { parse_image_processor(text, "p.json"); });
    };
    refused("[]", "the file", "an object");
    refused(R"({"image_processor_type": "BeitImageProcessor"})", "image_processor_type", "CLIPImageProcessor");
    refused(R"({"size": 0})", "size", "is 0");
    refused(R"({"size": {"height": 32}})", "size.width", "missing");
    refused(R"({"size": {"height": 32, "width": 1e9}})", "size.width", "8192");
    refused(R"({"size": {"shortest_edge": 32, "longest_edge": 0}})", "size.longest_edge", "is 0");
    refused(R"({"size": {"longest_edge": 64}})", "size.height", "missing");
    refused(R"({"size": {"max_height": 64}})", "size.max_width", "missing");
    refused(R"({"size": [32, 32, 3]})", "size", "[height, width]");
    refused(R"({"size": "32"})", "size", "an integer");
    refused(R"({"do_center_crop": true})", "crop_size", "do_center_crop");
    refused(R"({"resample": 6})", "resample", "from 0 to 5");
    refused(R"({"do_resize": 1})", "do_resize", "true or false");
    refused(R"({"do_pad": true})", "do_pad", "false");
    refused(R"({"image_std": [0.5, 0, 0.5]})", "image_std[1]", "is 0");
    refused(R"({"image_std": []})", "image_std", "a number for each channel");
    refused(R"({"image_mean": ["a"]})", "image_mean[0]", "a number");
    refused(R"({"rescale_factor": -1})", "rescale_factor", "-1");
    const Image picture(32, 24, Rgb{1, 2, 3});
    const auto unfit = [&](const char* text, const ImageInput& wanted, const char* why) {
        INFO(text);
        const ImageProcessor processor = parse_image_processor(text, "p.json");
        expect_error(ErrorKind::bad_file, {"p.json: ", why},
                     [&] { processor.pixel_values(processor.framed(picture, wanted), wanted); });
    };
    unfit(R"({"size": 32})", input_of(3, 24, 32), "32 × 32 pixels");
    unfit(R"({"size": {"shortest_edge": 12}})", input_of(3, 12, 12), "12 × 16 pixels");
    unfit(R"({"size": {"shortest_edge": 12, "longest_edge": 12}})", input_of(3, 12, 12), "9 × 12 pixels");
    // refused before there is memory for them: a picture has at most 2^26 pixels
    unfit(R"({"size": 8192})", input_of(3, 8, 8), "8192 × 8192 pixels");
    unfit(R"({"do_resize": false, "do_center_crop": true, "crop_size": 8192})", input_of(3, 8, 8), "8192 × 8192");
    unfit(R"({"size": 4096, "do_center_crop": true, "crop_size": 8})", input_of(3, 8, 8), "become one of 4096 × 4096");
    unfit(R"({"size": 8})", input_of(4, 8, 8), "takes 4");
    unfit(R"({"size": 8, "image_mean": [0.5, 0.5, 0.5]})", input_of(1, 8, 8), "image_mean");
}
