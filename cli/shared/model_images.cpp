#include "cli/shared/model_images.h"
#include "runtime/session/model_access.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "cli/shared/command_options.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/graph/op_def.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/image_processor.h"
#include "runtime/picture/image_file.h"

namespace vantage::cli {

namespace {

std::vector<ModelImage> images_of_numbers(const ImageInput& wanted, const std::string& path) {
    const SafeTensors file(path);
    const TensorEntry& entry = file.at("pixel_values");
    const std::vector<std::int64_t> one{wanted.channels, wanted.height, wanted.width};
    const bool batch = entry.shape.size() == 4;
    if ((!batch && entry.shape.size() != 3) || !std::equal(one.rbegin(), one.rend(), entry.shape.rbegin()) ||
        (batch && entry.shape[0] == 0) || (entry.dtype != "F32" && entry.dtype != "F16" && entry.dtype != "BF16"))
        throw bad_file_error("{}: pixel_values is {}; expected floats of shape {} or [images, …]", path, entry.text(),
                             Shape(one).text());
    const DType type = entry.dtype == "F32" ? DType::f32 : entry.dtype == "F16" ? DType::f16 : DType::bf16;
    const HostTensor values = widen({Shape(entry.shape), type}, entry.data.all());
    const auto odd = std::ranges::find_if_not(values.data, [](double value) { return std::isfinite(value); });
    if (odd != values.data.end())
        throw bad_file_error("{}: pixel_values: element {} is {:g}, wanted a finite number", path,
                             odd - values.data.begin(), *odd);
    const auto count = static_cast<std::size_t>(batch ? entry.shape[0] : 1),
               each = static_cast<std::size_t>(wanted.pixels());
    std::vector<ModelImage> images(count);
    for (std::size_t i = 0; i < count; ++i) {
        images[i].name = count > 1 ? path + format("[{}]", i) : path;
        const auto begin = values.data.begin() + static_cast<std::ptrdiff_t>(i * each);
        images[i].pixels.assign(begin, begin + static_cast<std::ptrdiff_t>(each));
    }
    return images;
}

std::string processor_file(const std::string& folder) {
    return (std::filesystem::path(folder) / "preprocessor_config.json").string();
}

// Nothing where the folder has none.
std::optional<ImageProcessor> processor_in(const std::string& folder) {
    const std::string file = processor_file(folder);
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return std::nullopt;
    return parse_image_processor(read_file(file, 1 << 20), file);
}

const ImageProcessor& require_processor(const std::optional<ImageProcessor>& processor, const std::string& folder) {
    if (!processor)
        throw bad_file_error("{}: no such file; without it, give pixel_values in a safetensors file",
                             processor_file(folder));
    return *processor;
}

}  // namespace

std::vector<ModelImage> read_model_images(const Model& model, const std::string& path) {
    const ModelConfig& config = config_of(model);
    if (!config.sees())
        throw usage_error("--image needs a vision model, but {} is a text model ({})", model.info().name,
                          model.info().architecture);
    if (path.ends_with(".safetensors")) return images_of_numbers(config.image, path);
    const std::string& folder = model.info().directory;
    const std::optional<ImageProcessor> found = processor_in(folder);
    const ImageProcessor& processor = require_processor(found, folder);
    Image seen = processor.framed(read_image(path), config.image);
    std::vector<float> pixels = processor.pixel_values(seen, config.image);
    return {{path, std::move(pixels), std::move(seen)}};
}

std::function<std::vector<float>(const std::string& path)> image_reader(const std::string& folder,
                                                                        const ImageInput& wanted) {
    return [folder, wanted, found = processor_in(folder)](const std::string& path) {
        if (path.ends_with(".safetensors")) return images_of_numbers(wanted, path).front().pixels;
        const ImageProcessor& processor = require_processor(found, folder);
        return processor.pixel_values(processor.framed(read_image(path), wanted), wanted);
    };
}

CLI::Option* add_images_option(CLI::App& command, std::vector<std::string>& files) {
    return add_option(command, "--image", files,
                      "Input images: PNG or JPEG, preprocessed as the model's preprocessor_config.json says, or "
                      "safetensors files with pixel_values",
                      "FILE");
}

void check_images(const Model& model, std::span<const std::string> files) {
    if (files.size() > 1)
        for (const std::string& file : files) read_model_images(model, file);
}

void require_image(const std::string& command, const Model& model, bool has_image) {
    if (config_of(model).sees() && !has_image)
        throw usage_error("{}: {} is a vision model; give --image FILE", command, model.info().name);
}

}  // namespace vantage::cli
