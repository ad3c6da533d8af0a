// Attention of a vision model, drawn over the image.
#pragma once

#include <string>
#include <vector>

#include "cli/shared/head_survey.h"
#include "runtime/io/image.h"
#include "runtime/models/config.h"

namespace vantage::cli {

/// `seen` in grey, enlarged by a whole factor, with the shares of its patches (row-major) on top; the largest is the
/// brightest.
Image overlaid(const Image& seen, const std::vector<float>& shares, const ImageInput& patches);

/// One picture per layer, layer-L-cls.png: the attention of [CLS] to each patch, mean of the heads. Writes into an
/// existing folder and returns the paths.
std::vector<std::string> write_image_overlays(const HeadSurvey& survey, const Image& seen, const std::string& folder);

/// Of an encoder–decoder, one picture per decoder token, token-N-cross.png: its cross-attention to each patch, mean of
/// all layers and heads.
std::vector<std::string> write_word_overlays(const HeadSurvey& survey, const Image& seen, const std::string& folder);

}  // namespace vantage::cli
