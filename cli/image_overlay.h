// What an image model reads, laid over the image.
#pragma once

#include <string>
#include <vector>

#include "head_survey.h"
#include "model_images.h"

namespace vantage::cli {

/// A picture for each layer: `seen` in grey, and over it how much the class's token reads each patch, as the mean of the heads; the
/// largest share is the brightest. layer-L-cls.png in a folder that is there; returns the paths.
std::vector<std::string> write_image_overlays(const HeadSurvey& survey, const Image& seen, const std::string& folder);

}  // namespace vantage::cli
