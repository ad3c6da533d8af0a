#include "cli/heads/pattern_pictures.h"

#include <cmath>

#include "cli/heads/layer_means.h"
#include "cli/shared/head_pictures.h"
#include "cli/shared/image_overlay.h"
#include "runtime/base/format.h"
#include "runtime/picture/head_chart.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

/// The model's name, and the part's if there are several.
std::string title_of(const HeadsReport& report, const HeadsPart& part) {
    return report.model.info().name + (report.parts.size() > 1 ? std::string(" · ") + part.name() : "");
}

void write_patterns(const HeadsReport& report, const HeadsPart& part, const std::string& path) {
    const HeadSurvey& survey = part.survey;
    HeadChartPicture picture{
        .layers = static_cast<int>(survey.layers().size()), .heads = survey.heads(), .layer_numbers = survey.layers()};
    picture.panels.resize(part.rows.size());
    for (const HeadRow& row : part.rows) {
        std::vector<double> bars = row.numbers->received;
        for (double& bar : bars) bar = std::isnan(bar) ? 0 : bar;
        picture.panels[survey.place(row.place.layer, static_cast<int>(row.place.head))] = {
            row.pattern.id(), row.pattern.label(), row.pattern.share, std::move(bars)};
    }
    picture.title =
        title_of(report, part) + format(": patterns of {} layers × {} heads", picture.layers, picture.heads);
    picture.caption = prompt_quoted(survey);
    write_png(path, draw_head_chart(picture), origin_texts(survey));
}

void write_matrix(const HeadsReport& report, const HeadsPart& part, const SquareMatrix& matrix, const char* name,
                  const char* what, const std::string& path) {
    const std::vector<float> values(matrix.values.begin(), matrix.values.end());
    HeatmapPicture picture;
    picture.rows = picture.cols = matrix.size;
    picture.values = values;
    picture.row_labels = picture.col_labels = part.survey.texts();
    picture.title = name;
    picture.caption = title_of(report, part) + " · " + what;
    picture.causal = part.survey.causal();
    write_png(path, draw_heatmap(picture), with_origin(texts_of(picture), part.survey));
}

/// The rollout row of [CLS], drawn over the image.
void write_class_sources(const HeadsReport& report, const SquareMatrix& rollout, const std::string& path) {
    std::vector<float> shares;
    for (int patch = 1; patch < rollout.size; ++patch) shares.push_back(static_cast<float>(rollout.at(0, patch)));
    PngTexts texts = origin_texts(report.parts.front().survey);
    texts.emplace_back("Title", "attention rollout: what [CLS] depends on, through all layers");
    write_png(path, overlaid(report.image->seen, shares, config_of(report.model).image), texts);
}

}  // namespace

std::vector<std::string> write_heads_pictures(const HeadsReport& report, const std::string& folder) {
    std::vector<std::string> files;
    for (const HeadsPart& part : report.parts) {
        const auto next_file = [&](const std::string& name) {
            const std::string whose = report.parts.size() > 1 ? std::string("-") + part.name() : "";
            files.push_back(folder_path(folder, name + whose + ".png"));
            return files.back();
        };
        write_patterns(report, part, next_file("patterns"));
        write_layer_means(part, title_of(report, part), next_file("layers"));
        if (part.rollout)
            write_matrix(report, part, *part.rollout, "attention rollout",
                         "share of each input token (column) in the last state of each token (row)",
                         next_file("rollout"));
        if (part.flow)
            write_matrix(report, part, *part.flow, "attention flow",
                         "maximum flow from each input token (column) to the last state of each token (row)",
                         next_file("flow"));
        const bool of_image = report.parts.size() == 1 || part.survey.kind() == AttentionKind::encoder;
        if (part.rollout && of_image && report.image && report.image->seen.width > 0)
            write_class_sources(report, *part.rollout, next_file("rollout-cls"));
    }
    return files;
}

}  // namespace vantage::cli
