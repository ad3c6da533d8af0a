// The heads of a survey as PNG files.
#pragma once

#include <string>
#include <vector>

#include "cli/shared/head_survey.h"
#include "runtime/picture/heatmap.h"
#include "runtime/picture/png.h"

namespace vantage::cli {

/// The picture keeps a reference to `weights`.
HeatmapPicture head_picture(const HeadSurvey& survey, std::int64_t layer, int head, std::span<const float> weights);

/// heads.png: layers × heads; the most salient head has a frame. Returns the path.
std::string write_head_grid(const HeadSurvey& survey, const std::string& folder);
/// layer-L-head-H.png. Returns the path.
std::string write_head(const HeadSurvey& survey, std::int64_t layer, int head, const std::string& folder);
/// The grid and every head. Creates the folder; returns the paths.
std::vector<std::string> write_head_pictures(const HeadSurvey& survey, const std::string& folder);

/// The input text, for captions.
std::string prompt_quoted(const HeadSurvey& survey);
/// Model, device and tokens, as PNG text chunks: what is needed to make the picture again.
PngTexts origin_texts(const HeadSurvey& survey);
PngTexts with_origin(PngTexts texts, const HeadSurvey& survey);

/// The path of a file in a folder.
std::string folder_path(const std::string& folder, const std::string& file);
/// Creates a folder and its parents. Throws bad_file.
void make_folder(const std::string& folder);

}  // namespace vantage::cli
