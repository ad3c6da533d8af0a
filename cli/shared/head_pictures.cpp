#include "cli/shared/head_pictures.h"
#include "runtime/session/model_access.h"

#include <filesystem>

#include "cli/shared/progress.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/picture/head_grid.h"
#include "runtime/picture/shown_text.h"

namespace vantage::cli {

PngTexts with_origin(PngTexts texts, const HeadSurvey& survey) {
    const PngTexts origin = origin_texts(survey);
    texts.insert(texts.end(), origin.begin(), origin.end());
    return texts;
}

std::string folder_path(const std::string& folder, const std::string& file) {
    return (std::filesystem::path(folder) / file).string();
}

std::string prompt_quoted(const HeadSurvey& survey) {
    const ModelConfig& config = config_of(survey.session().model());
    const bool of_text = config.kind == ModelKind::encoder_decoder && survey.kind() == AttentionKind::self;
    if (const ImageInput& image = config.image; config.sees() && !of_text)
        return format("an image in {} × {} patches", image.rows(), image.columns());
    constexpr int max_caption = 120;  // columns; pictures wrap captions
    return "“" + shortened(without_controls(join(survey.texts(), "")), max_caption) + "”";
}

PngTexts origin_texts(const HeadSurvey& survey) {
    const Model& model = survey.session().model();
    return {{"Vantage-Model", model.info().name},
            {"Vantage-Device", model.device().caps().name},
            {"Vantage-Tokens", join(survey.input().keys.ids, ",", [](std::int32_t id) { return std::to_string(id); })}};
}

HeatmapPicture head_picture(const HeadSurvey& survey, std::int64_t layer, int head, std::span<const float> weights) {
    const HeadStatistics& numbers = survey.of(layer, head);
    HeatmapPicture picture;
    picture.rows = survey.queries();
    picture.cols = survey.tokens();
    picture.values = weights;
    picture.row_labels = survey.query_texts();
    picture.col_labels = survey.texts();
    picture.title =
        format("{}layer {} · head {}", survey.kind() == AttentionKind::cross ? "cross attention · " : "", layer, head);
    const std::string pattern = pattern_of(numbers).text() + format(" · entropy {:.2f} nats ({:.0f}\u00a0%)",
                                                                    numbers.entropy, 100 * numbers.relative_entropy);
    picture.caption =
        survey.session().model().info().name + " · " + (survey.is_salient(layer, head) ? reason_text(survey) : pattern);
    picture.causal = survey.causal();
    return picture;
}

std::string write_head_grid(const HeadSurvey& survey, const std::string& folder) {
    HeadGridPicture picture;
    picture.layers = static_cast<int>(survey.layers().size());
    picture.layer_numbers = survey.layers();
    picture.heads = survey.heads();
    picture.rows = survey.queries(), picture.cols = survey.tokens();
    picture.weights = [&](int row, int head) { return survey.weights(at(survey.layers(), row), head); };
    for (const HeadStatistics& head : survey.numbers()) picture.notes.push_back(pattern_of(head).short_label());
    picture.title = survey.session().model().info().name + format(": {} layer{} × {} head{}", picture.layers,
                                                                  picture.layers == 1 ? "" : "s", picture.heads,
                                                                  picture.heads == 1 ? "" : "s");
    picture.caption = prompt_quoted(survey);
    if (const auto salient = survey.salient()) {
        picture.salient_row = static_cast<int>(survey.place(salient->layer, 0)) / survey.heads();
        picture.salient_head = salient->head;
        picture.salient_reason = reason_text(survey);
    }
    picture.causal = survey.causal();
    std::string path = folder_path(folder, "heads.png");
    write_png(path, draw_head_grid(picture), with_origin(texts_of(picture), survey));
    return path;
}

std::string write_head(const HeadSurvey& survey, std::int64_t layer, int head, const std::string& folder) {
    const std::vector<float> weights = survey.weights(layer, head);
    const HeatmapPicture picture = head_picture(survey, layer, head, weights);
    PngTexts texts = with_origin(texts_of(picture), survey);
    texts.insert(texts.end(), {{"Vantage-Layer", std::to_string(layer)}, {"Vantage-Head", std::to_string(head)}});
    std::string path = folder_path(folder, format("layer-{}-head-{}.png", layer, head));
    write_png(path, draw_heatmap(picture), texts);
    return path;
}

std::vector<std::string> write_head_pictures(const HeadSurvey& survey, const std::string& folder) {
    make_folder(folder);
    std::vector<std::string> files{write_head_grid(survey, folder)};
    for_each_head("drawing", survey.layers(), survey.heads(),
                  [&](std::int64_t layer, int head) { files.push_back(write_head(survey, layer, head, folder)); });
    return files;
}

void make_folder(const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error || !std::filesystem::is_directory(folder, error))
        throw bad_file_error("cannot create the folder \"{}\"{}", folder,
                             error ? ": " + error.message() : ": a file of this name exists");
}

}  // namespace vantage::cli
