// Writes the file of `inspect --save`.
#pragma once

#include <optional>
#include <string>

#include "cli/inspect/inspect_report.h"
#include "cli/shared/model_images.h"

namespace vantage::cli {

/// Writes the tensors of the surveyed pass and `greedy`; names and shapes are in the command's help.
void save_pass(const std::string& file, const InspectReport& report, const std::optional<ModelImage>& image);

}  // namespace vantage::cli
