#include "runtime/models/image_processor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"

namespace vantage::internal {

namespace {

constexpr std::int64_t max_side = 1 << 13;

int read_side(const JsonFields& size, const char* key) { return static_cast<int>(size.integer(key, 1, max_side)); }

// {"height": 224, "width": 224}, [224, 224], or one number for both.
void read_sides(const JsonFields& fields, const char* key, int& height, int& width) {
    if (!fields.has(key)) return;
    if (fields.json()[key].is_object()) {
        const JsonFields size = fields.object(key);
        height = read_side(size, "height"), width = read_side(size, "width");
        return;
    }
    const std::vector<std::int64_t> sides = fields.integers(key, 1, max_side);
    if (fields.json()[key].is_array() && sides.size() != 2) fields.fail(key, "one number, or [height, width]");
    height = static_cast<int>(sides.front()), width = static_cast<int>(sides.back());
}

void read_size(const JsonFields& fields, ImageProcessor& p) {
    const Json* value = fields.has("size") ? &fields.json()["size"] : nullptr;
    const auto says = [&](const char* key) { return value != nullptr && value->is_object() && value->contains(key); };
    if (says("shortest_edge")) {
        const JsonFields size = fields.object("size");
        p.shortest_edge = read_side(size, "shortest_edge");
        if (size.has("longest_edge")) p.longest_edge = read_side(size, "longest_edge");
    } else if (says("max_height")) {
        const JsonFields size = fields.object("size");
        p.max_height = read_side(size, "max_height"), p.max_width = read_side(size, "max_width");
    } else {
        read_sides(fields, "size", p.height, p.width);
    }
}

void read_by_channel(const JsonFields& fields, const char* key, double minimum, std::vector<double>& numbers) {
    if (!fields.has(key)) return;
    numbers.clear();
    if (!fields.json()[key].is_array()) return numbers.push_back(fields.number(key, minimum, 1e6));
    for (const Json& one : fields.list(key)) {
        if (!one.is_number() || !(one.get<double>() >= minimum && one.get<double>() <= 1e6))
            fields.fail_element(key, numbers.size(), format("a number from {:g} to 1e+06", minimum));
        numbers.push_back(one.get<double>());
    }
    if (numbers.empty()) fields.fail(key, "a number for each channel");
}

// Whether it is CLIP's class, which has the same keys as ViT's with other defaults. Others are not supported.
bool is_of_clip(const JsonFields& fields) {
    bool found = false;
    for (const char* key : {"image_processor_type", "feature_extractor_type"}) {
        std::string name = fields.optional_text(key).value_or("");
        for (const char* end : {"ImageProcessorFast", "ImageProcessor", "FeatureExtractor"})
            if (name.ends_with(end)) name.resize(name.size() - std::string(end).size());
        if (fields.has(key) && name != "ViT" && name != "CLIP")
            fields.fail(key, "ViTImageProcessor or CLIPImageProcessor");
        found = found || name == "CLIP";
    }
    return found;
}

// The centre of an image whose shorter side is resized; in older files both sizes are one number.
void take_clip_defaults(const JsonFields& fields, ImageProcessor& p) {
    p.crop = true, p.resampling = Resampling::bicubic;
    if (!fields.has("size") || fields.json()["size"].is_number())
        p.shortest_edge = static_cast<int>(fields.optional_integer("size", 1, max_side).value_or(224));
    p.mean = {0.48145466, 0.4578275, 0.40821073}, p.deviation = {0.26862954, 0.26130258, 0.27577711};
}

/// The centre of `image`, padded with black where it is smaller.
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
    ImageProcessor p{.file = name};
    const bool of_clip = is_of_clip(fields);
    if (of_clip) take_clip_defaults(fields, p);
    const auto flag = [&](const char* key, bool default_value) {
        return fields.optional_flag(key).value_or(default_value);
    };
    p.resize = flag("do_resize", true), p.crop = flag("do_center_crop", p.crop);
    p.rescale = flag("do_rescale", true), p.normalise = flag("do_normalize", true);
    if (flag("do_pad", false)) fields.fail("do_pad", "false");
    read_size(fields, p);
    read_sides(fields, "crop_size", p.crop_height, p.crop_width);
    if (p.crop && !of_clip && !fields.has("crop_size"))
        fields.fail("crop_size", "a size, which \"do_center_crop\" asks for");
    if (const auto filter = fields.optional_integer("resample", 0, 5)) p.resampling = static_cast<Resampling>(*filter);
    p.factor = fields.optional_number("rescale_factor", 1e-9, 1e6).value_or(1.0 / 255);
    read_by_channel(fields, "image_mean", -1e6, p.mean);
    read_by_channel(fields, "image_std", 1e-9, p.deviation);
    return p;
}

// In double, truncated as by Python's int(), so that the sizes match those of transformers.
ImageProcessor::Size ImageProcessor::resized_size(const Image& image) const {
    const double h = image.height, w = image.width;
    if (max_height > 0) {
        const double scale = std::min(max_height / h, max_width / w);
        return {std::floor(h * scale), std::floor(w * scale)};
    }
    if (shortest_edge == 0) return {static_cast<double>(height), static_cast<double>(width)};
    double edge = shortest_edge, exact = shortest_edge;  // of the shorter side
    if (longest_edge > 0 && std::max(h, w) / std::min(h, w) * edge > longest_edge) {
        exact = longest_edge * std::min(h, w) / std::max(h, w);
        edge = std::nearbyint(exact);
    }
    if (std::min(h, w) == edge && longest_edge > 0) return {h, w};
    return w <= h ? Size{std::floor(exact * h / w), edge} : Size{edge, std::floor(exact * w / h)};
}

Image ImageProcessor::framed(const Image& image, const ImageInput& wanted) const {
    const double given_height = image.height, given_width = image.width;
    const auto [h, w] = resize ? resized_size(image) : Size{given_height, given_width};
    const double final_height = crop ? crop_height : h, final_width = crop ? crop_width : w;
    if (final_height != static_cast<double>(wanted.height) || final_width != static_cast<double>(wanted.width))
        throw bad_file_error(
            "{}: produces images of {:.0f} × {:.0f} pixels (height × width), but the model takes {} × {}", file,
            final_height, final_width, wanted.height, wanted.width);
    constexpr double largest_crop = 64;  // cuts away all but this share of the pixels
    const double most = std::max(given_height * given_width, largest_crop * final_height * final_width);
    if (w < 1 || h < 1 || w * h > std::min(most, static_cast<double>(max_pixels_read)))
        throw bad_file_error(
            "{}: a picture of {} × {} pixels (height × width) would have to become one of {:.0f} × {:.0f}", file,
            image.height, image.width, h, w);
    const Image result = resize ? resized(image, static_cast<int>(w), static_cast<int>(h), resampling) : image;
    return crop ? cropped(result, crop_height, crop_width) : result;
}

std::vector<float> ImageProcessor::pixel_values(const Image& framed, const ImageInput& wanted) const {
    if (wanted.channels != 1 && wanted.channels != 3)
        throw bad_file_error(
            "{}: a picture gives 3 channels, or 1, but the model takes {}; give pixel_values in a safetensors file",
            file, wanted.channels);
    const auto channels = static_cast<std::size_t>(wanted.channels);
    for (const auto& [key, numbers] : {std::pair{"image_mean", &mean}, std::pair{"image_std", &deviation}})
        if (numbers->size() != 1 && numbers->size() != channels)
            throw bad_file_error("{}: \"{}\" has {} numbers, but the model takes {} channel{}", file, key,
                                 numbers->size(), channels, channels == 1 ? "" : "s");
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

std::vector<std::string> place_names(const ImageInput& image) {
    std::vector<std::string> names{"cls"};
    for (std::int64_t row = 0; row < image.rows(); ++row)
        for (std::int64_t column = 0; column < image.columns(); ++column)
            names.push_back(format("r{} c{}", row, column));
    return names;
}

Image picture_of(std::span<const float> pixels, const ImageInput& image) {
    const auto [low, high] = std::ranges::minmax(pixels);
    const float range = std::max(high - low, 1e-12f);
    const auto plane = static_cast<std::size_t>(image.height * image.width);
    Image picture(static_cast<int>(image.width), static_cast<int>(image.height), {});
    for (std::size_t i = 0; i < 3 * plane; ++i) {
        const std::size_t pixel = i / 3, channel = image.channels >= 3 ? i % 3 : 0;  // one channel: grey
        picture.rgb[i] = static_cast<std::uint8_t>(std::lround(255 * (pixels[channel * plane + pixel] - low) / range));
    }
    return picture;
}

}  // namespace vantage::internal
