// Prepares images for a vision model as preprocessor_config.json describes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/resize.h"
#include "runtime/models/config.h"

namespace vantage::internal {

/// transformers' ViTImageProcessor and CLIPImageProcessor: optional resize, centre crop, rescale and normalisation.
struct ImageProcessor {
    bool resize = true, crop = false, rescale = true, normalise = true;
    Resampling resampling = Resampling::bilinear;
    /// Size after resizing, 0 where not given. Either height and width; or shortest_edge, limited so that the longer
    /// side is at most longest_edge; or the largest size within max_height and max_width. The last two keep the aspect
    /// ratio.
    int height = 224, width = 224;
    int shortest_edge = 0, longest_edge = 0, max_height = 0, max_width = 0;
    int crop_height = 224, crop_width = 224;
    double factor = 1.0 / 255;
    std::vector<double> mean = {0.5}, deviation = {0.5};  ///< per channel, or one for all

    /// Resizes and crops to the size that the model takes. A crop larger than the image is padded with black. Throws
    /// bad_file, before it takes memory, if another size would result, or a far larger one on the way.
    Image framed(const Image& image, const ImageInput& wanted) const;
    struct Size {
        double height, width;  ///< integers of any size
    };
    Size resized_size(const Image& image) const;
    /// The values of a framed image, [channels, height, width]; with one channel, its luma. Throws bad_file if the
    /// numbers of channels do not fit.
    std::vector<float> pixel_values(const Image& framed, const ImageInput& wanted) const;

    std::string file;  ///< for messages
};

/// Reads preprocessor_config.json of transformers 4 or 5. Throws bad_file naming the field.
ImageProcessor parse_image_processor(std::string_view json, const std::string& name);

/// Labels of an image's tokens: "cls", then "r1 c4" for the patch in row 1 and column 4, from 0: "1,4" would read as a
/// number.
std::vector<std::string> place_names(const ImageInput& image);
/// Model input [channels, height, width] as an image: the minimum becomes black, the maximum white.
Image picture_of(std::span<const float> pixels, const ImageInput& image);

}  // namespace vantage::internal
