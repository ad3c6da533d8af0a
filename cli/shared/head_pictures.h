// The heads of a survey as PNG files.
#pragma once

#include <string>
#include <vector>

#include "cli/shared/head_survey.h"
#include "runtime/picture/heatmap.h"
#include "runtime/picture/png.h"

namespace vantage::cli {

/// Refers to `weights`.
HeatmapPicture head_picture(const HeadSurvey& survey, int layer, int head, std::span<const float> weights);

/// heads.png: layers × heads, with the telling one framed. Both return the file's path.
std::string write_head_grid(const HeadSurvey& survey, const std::string& folder);
/// layer-L-head-H.png.
std::string write_head(const HeadSurvey& survey, int layer, int head, const std::string& folder);
/// The grid and every head; makes the folder.
std::vector<std::string> write_head_pictures(const HeadSurvey& survey, const std::string& folder);

/// The text that was looked at, for captions; and what a reader needs to make the same picture again.
std::string prompt_quoted(const HeadSurvey& survey);
PngTexts origin_texts(const HeadSurvey& survey);

/// Makes a folder with all above it, and sees that files can be written there; throws bad_file.
void make_folder(const std::string& folder);

}  // namespace vantage::cli
