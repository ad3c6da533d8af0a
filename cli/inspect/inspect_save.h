// The file of `inspect --save`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/shared/head_survey.h"
#include "cli/shared/model_images.h"

namespace vantage::cli {

/// The pass that the survey is of, under the names of the command's help. `greedy` are the ids that continue it, if any.
void save_pass(const std::string& file, const HeadSurvey& survey, const std::vector<std::int32_t>& greedy,
               const std::optional<ModelImage>& image, const std::string& precision);

}  // namespace vantage::cli
