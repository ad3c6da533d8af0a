#include "runtime/models/image_processor.h"

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/io/json.h"

namespace vantage {

namespace {

constexpr std::int64_t most_side = 1 << 13;

// {"height": 224, "width": 224}, or one number for both.
void read_square_size(const JsonFields& fields, const char* key, int& height, int& width) {
    const Json* value = fields.has(key) ? &fields.json()[key] : nullptr;
    if (value == nullptr) return;
    if (!value->is_object()) {
        height = width = static_cast<int>(fields.integer(key, 1, most_side));
        return;
    }
    const JsonFields size = fields.object(key);
    height = static_cast<int>(size.integer("height", 1, most_side));
    width = static_cast<int>(size.integer("width", 1, most_side));
}

void read_size(const JsonFields& fields, ImageProcessor& p) {
    if (!fields.has("size") || !fields.json()["size"].contains("shortest_edge"))
        return read_square_size(fields, "size", p.height, p.width);
    const JsonFields size = fields.object("size");
    if (size.has("longest_edge")) size.fail("longest_edge", "shortest_edge alone, or height and width");
    p.shortest_edge = static_cast<int>(size.integer("shortest_edge", 1, most_side));
}

std::vector<double> read_by_channel(const JsonFields& fields, const char* key, double least, double usual) {
    if (!fields.has(key)) return {usual};
    if (!fields.json()[key].is_array()) return {fields.number(key, least, 1e6)};
    std::vector<double> numbers;
    for (const Json& one : fields.list(key)) {
        if (!one.is_number() || !(one.get<double>() >= least && one.get<double>() <= 1e6))
            fields.fail_element(key, numbers.size(), format("a number from %g to 1e+06", least));
        numbers.push_back(one.get<double>());
    }
    if (numbers.empty()) fields.fail(key, "a number for each channel");
    return numbers;
}

// Of other classes the same keys mean the same, but what they leave out has other values.
void check_class(const JsonFields& fields) {
    for (const char* key : {"image_processor_type", "feature_extractor_type"}) {
        const std::string name = fields.optional_text(key).value_or("ViTImageProcessor");
        if (name != "ViTImageProcessor" && name != "ViTImageProcessorFast" && name != "ViTFeatureExtractor")
            fields.fail(key, "ViTImageProcessor");
    }
}

/// The part of `image` in the middle; where that is smaller it lies in the middle of black.
Image cropped(const Image& image, int height, int width) {
    const auto half_down = [](int x) { return x >= 0 ? x / 2 : -((1 - x) / 2); };
    const int top = half_down(image.height - height), left = half_down(image.width - width);
    Image result(width, height, Rgb{});
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            if (image.has(left + x, top + y)) result.set(x, y, image.at(left + x, top + y));
    return result;
}

// ITU-R 601-2 luma in fixed point, as Pillow's "L".
std::uint8_t luma(Rgb colour) {
    return static_cast<std::uint8_t>((colour.r * 19595 + colour.g * 38470 + colour.b * 7471 + 0x8000) >> 16);
}

}  // namespace

ImageProcessor parse_image_processor(std::string_view json, const std::string& name) {
    const Json tree = parse_json(json, name);
    const JsonFields fields(tree, name);
    check_class(fields);
    ImageProcessor p{.file = name};
    const auto flag = [&](const char* key, bool usual) { return fields.optional_flag(key).value_or(usual); };
    p.resize = flag("do_resize", true), p.crop = flag("do_center_crop", false);
    p.rescale = flag("do_rescale", true), p.normalise = flag("do_normalize", true);
    if (flag("do_pad", false)) fields.fail("do_pad", "false");
    read_size(fields, p);
    read_square_size(fields, "crop_size", p.crop_height, p.crop_width);
    p.resampling = static_cast<Resampling>(fields.optional_integer("resample", 0, 5).value_or(2));
    p.factor = fields.optional_number("rescale_factor", 1e-9, 1e6).value_or(1.0 / 255);
    p.mean = read_by_channel(fields, "image_mean", -1e6, 0.5);
    p.deviation = read_by_channel(fields, "image_std", 1e-9, 0.5);
    return p;
}

Image ImageProcessor::framed(const Image& image) const {
    int h = height, w = width;
    if (shortest_edge > 0) {
        const double edge = shortest_edge;
        h = image.width <= image.height ? static_cast<int>(edge * image.height / image.width) : shortest_edge;
        w = image.width <= image.height ? shortest_edge : static_cast<int>(edge * image.width / image.height);
    }
    if (resize && (w < 1 || h < 1 || static_cast<std::int64_t>(w) * h > most_pixels_read))
        throw Error(ErrorKind::bad_file,
                    format("%s: a picture of %d × %d pixels (height × width) would have to become one of %d × %d",
                           file.c_str(), image.height, image.width, h, w));
    const Image result = resize ? resized(image, w, h, resampling) : image;
    return crop ? cropped(result, crop_height, crop_width) : result;
}

std::vector<float> ImageProcessor::pixel_values(const Image& framed, const ImageInput& wanted) const {
    if (framed.height != wanted.height || framed.width != wanted.width)
        throw Error(ErrorKind::bad_file,
                    format("%s: it makes images of %d × %d pixels (height × width), but the model takes %lld × %lld",
                           file.c_str(), framed.height, framed.width, static_cast<long long>(wanted.height),
                           static_cast<long long>(wanted.width)));
    if (wanted.channels != 1 && wanted.channels != 3)
        throw Error(ErrorKind::bad_file,
                    format("%s: a picture gives 3 channels, or 1, but the model takes %lld; give pixel_values in a "
                           "safetensors file",
                           file.c_str(), static_cast<long long>(wanted.channels)));
    const auto channels = static_cast<std::size_t>(wanted.channels);
    for (const auto& [key, numbers] : {std::pair{"image_mean", &mean}, std::pair{"image_std", &deviation}})
        if (numbers->size() != 1 && numbers->size() != channels)
            throw Error(ErrorKind::bad_file,
                        format("%s: \"%s\" has %zu numbers, but the model takes %zu channel%s", file.c_str(), key,
                               numbers->size(), channels, channels == 1 ? "" : "s"));
    std::vector<float> values;
    for (std::size_t c = 0; c < channels; ++c) {
        const auto shift = static_cast<float>(mean[mean.size() > 1 ? c : 0]),
                   scale = static_cast<float>(deviation[deviation.size() > 1 ? c : 0]);
        for (int y = 0; y < framed.height; ++y)
            for (int x = 0; x < framed.width; ++x) {
                const Rgb colour = framed.at(x, y);
                const int byte = channels == 1 ? luma(colour) : c == 0 ? colour.r : c == 1 ? colour.g : colour.b;
                const auto value = static_cast<float>(rescale ? byte * factor : byte);
                values.push_back(normalise ? (value - shift) / scale : value);
            }
    }
    return values;
}

}  // namespace vantage
