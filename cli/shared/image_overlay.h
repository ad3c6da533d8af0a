// What an image model reads, laid over the image.
#pragma once

#include <string>
#include <vector>

#include "cli/shared/head_survey.h"
#include "cli/shared/model_images.h"
#include "runtime/models/config.h"

namespace vantage::cli {

/// `seen` in grey and some times larger, and over it shares of its patches, row by row; the largest is the brightest.
Image overlaid(const Image& seen, const std::vector<float>& shares, const ImageInput& patches);

/// A picture for each layer: how much the class's token reads each patch, as the mean of the heads. layer-L-cls.png in a
/// folder that is there; returns the paths.
std::vector<std::string> write_image_overlays(const HeadSurvey& survey, const Image& seen, const std::string& folder);

}  // namespace vantage::cli
