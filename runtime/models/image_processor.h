// From a picture to what an image model looks at, as preprocessor_config.json says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/io/resize.h"
#include "runtime/models/config.h"

namespace vantage {

/// What transformers' ViTImageProcessor does: resize, cut out the middle, scale, normalise; each of them where it is asked for.
struct ImageProcessor {
    bool resize = true, crop = false, rescale = true, normalise = true;
    Resampling resampling = Resampling::bilinear;
    /// Of the resized image: its sides; or the shape stays, and the shorter side becomes shortest_edge, or less where the
    /// longer one would become more than longest_edge; or it becomes as large as max_height and max_width let it. 0 = not said.
    int height = 224, width = 224;
    int shortest_edge = 0, longest_edge = 0, max_height = 0, max_width = 0;
    int crop_height = 224, crop_width = 224;
    double factor = 1.0 / 255;
    std::vector<double> mean = {0.5}, deviation = {0.5};  ///< by channel, or one for all

    /// Resized and cropped; what a crop has beyond the image is black.
    Image framed(const Image& image) const;
    struct Size {
        double height, width;  ///< whole numbers, of any size
    };
    Size resized_size(const Image& image) const;
    /// The numbers of a framed image, [channels, height, width]; with one channel its lightness. Throws bad_file where the
    /// model takes another size.
    std::vector<float> pixel_values(const Image& framed, const ImageInput& wanted) const;

    std::string file;  ///< where it is from, for messages
};

/// Reads preprocessor_config.json as transformers 4 or 5 write it. Throws bad_file naming the field.
ImageProcessor parse_image_processor(std::string_view json, const std::string& name);

/// "cls", then "row,column" of each patch: what stands for a token of an image.
std::vector<std::string> place_names(const ImageInput& image);
/// Numbers that a model looks at, [channels, height, width], as a picture: the smallest is black, the largest white.
Image picture_of(std::span<const float> pixels, const ImageInput& image);

}  // namespace vantage
