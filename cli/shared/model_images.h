// Images for models that look at them: pictures from PNG and JPEG files, or numbers from a safetensors file.
#pragma once

#include <string>
#include <vector>

#include "runtime/io/image.h"
#include "vantage/model.h"

namespace vantage::cli {

struct ModelImage {
    std::string name;           ///< the file, and the number in it where it has several
    std::vector<float> pixels;  ///< [channels, height, width]
    Image seen;                 ///< what of the picture the model sees, in its size; empty for numbers
};

/// The images of one file: pixel_values [C, H, W] or [images, C, H, W] of a safetensors file as they are, a picture by the
/// model folder's preprocessor_config.json. Throws usage for a model that reads text, bad_file.
std::vector<ModelImage> read_model_images(const Model& model, const std::string& path);

}  // namespace vantage::cli
