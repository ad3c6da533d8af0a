#include "heads_pictures.h"

#include <algorithm>
#include <filesystem>

#include "head_pictures.h"
#include "runtime/base/log.h"
#include "runtime/io/head_chart.h"
#include "runtime/io/heatmap.h"
#include "runtime/io/png.h"
#include "runtime/models/config.h"

namespace vantage::cli {

namespace {

std::string write_patterns(const HeadsReport& report, const std::string& path) {
    const HeadSurvey& survey = report.survey;
    HeadChartPicture picture{.layers = survey.layers(), .heads = survey.heads()};
    picture.panels.resize(report.rows.size());
    for (const HeadRow& row : report.rows)
        picture.panels[static_cast<std::size_t>(row.layer * survey.heads() + row.head)] = {
            row.pattern.name(), row.pattern.label(), row.pattern.share, row.numbers->received};
    picture.title = survey.session().model().info().name +
                    format(": patterns of %d layers × %d heads", picture.layers, picture.heads);
    picture.caption = prompt_quoted(survey);
    write_png(path, draw_head_chart(picture), origin_texts(survey));
    return path;
}

std::string write_matrix(const HeadsReport& report, const SquareMatrix& matrix, const char* name, const char* what,
                         const std::string& path) {
    const HeadSurvey& survey = report.survey;
    const std::vector<float> values(matrix.values.begin(), matrix.values.end());
    HeatmapPicture picture;
    picture.rows = picture.cols = matrix.size;
    picture.values = values;
    picture.row_labels = picture.col_labels = survey.texts();
    picture.title = name;
    picture.caption = survey.session().model().info().name + " · " + what;
    picture.causal = survey.causal();
    PngTexts texts = texts_of(picture), origin = origin_texts(survey);
    texts.insert(texts.end(), origin.begin(), origin.end());
    write_png(path, draw_heatmap(picture), texts);
    return path;
}

}  // namespace

std::vector<std::string> write_heads_pictures(const HeadsReport& report, const std::string& folder) {
    make_folder(folder);
    const auto in_folder = [&](const char* file) { return (std::filesystem::path(folder) / file).string(); };
    std::vector<std::string> files{write_patterns(report, in_folder("patterns.png"))};
    if (report.rollout)
        files.push_back(write_matrix(report, *report.rollout, "attention rollout",
                                     "share of each input token (column) in each token's last state (row)",
                                     in_folder("rollout.png")));
    if (report.flow)
        files.push_back(write_matrix(report, *report.flow, "attention flow",
                                     "largest flow from each input token (column) to each token's last state (row)",
                                     in_folder("flow.png")));
    return files;
}

}  // namespace vantage::cli
