// Writes the file of `inspect --save`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/shared/head_survey.h"
#include "cli/shared/model_images.h"

namespace vantage::cli {

/// Writes the tensors of the surveyed pass; names and shapes are in the command's help. `greedy`: continuation ids, may
/// be empty.
void save_pass(const std::string& file, const HeadSurvey& survey, const std::vector<std::int32_t>& greedy,
               const std::optional<ModelImage>& image, const std::string& precision);

}  // namespace vantage::cli
