// Input images for vision models: PNG and JPEG files, or pixel values from a safetensors file.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/shared/cli11.h"
#include "runtime/io/image.h"
#include "runtime/models/config.h"
#include "vantage/model.h"

namespace vantage::cli {

struct ModelImage {
    std::string name;           ///< the path, with the index if the file has several images
    std::vector<float> pixels;  ///< [channels, height, width]
    Image seen;                 ///< the part that the model sees, in its size; empty for safetensors
};

/// The images of one file. PNG and JPEG are preprocessed as the model's preprocessor_config.json says. A safetensors
/// file holds pixel_values [C, H, W] or [images, C, H, W], used as they are. Throws usage for a text model, bad_file.
std::vector<ModelImage> read_model_images(const Model& model, const std::string& path);

/// Reads the pixels of one image in the same way, for a model in `folder` that takes such images.
std::function<std::vector<float>(const std::string& path)> image_reader(const std::string& folder,
                                                                        const ImageInput& wanted);

/// Adds --image, with several files.
CLI::Option* add_images_option(CLI::App& command, std::vector<std::string>& files);
/// Throws bad_file where one of several files is no image for the model: before the first of them runs.
void check_images(const Model& model, std::span<const std::string> files);
/// Throws usage if the model is a vision model and there is no image.
void require_image(const std::string& command, const Model& model, bool has_image);

}  // namespace vantage::cli
