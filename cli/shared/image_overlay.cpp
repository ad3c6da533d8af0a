#include "cli/shared/image_overlay.h"

#include <algorithm>
#include <cmath>

#include "cli/shared/head_pictures.h"
#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/io/resize.h"
#include "runtime/picture/colour_map.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

constexpr int min_drawn_side = 480;     // pixels; model inputs are small, such as 224 × 224
constexpr float map_over_image = 0.6f;  // opacity of the map

/// The attention of [CLS] to each patch: the mean over heads.
std::vector<float> read_by_class(const HeadSurvey& survey, std::int64_t layer) {
    const int patches = survey.tokens() - 1;
    std::vector<float> mean(static_cast<std::size_t>(patches));
    for (int head = 0; head < survey.heads(); ++head) {
        const Array row = survey.session().attention({layer, head}, {0, 1}, {1, patches});
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += row.values()[i] / static_cast<float>(survey.heads());
    }
    return mean;
}

/// The shares as a grey picture, enlarged with bilinear filtering.
Image map_of(const std::vector<float>& shares, int rows, int columns, int width, int height) {
    const float largest = std::max(*std::max_element(shares.begin(), shares.end()), 1e-12f);
    Image cells(columns, rows, Rgb{});
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x) {
            const float share = at(shares, y * columns + x) / largest;
            const auto grey = static_cast<std::uint8_t>(std::lround(255 * share));
            cells.set(x, y, {grey, grey, grey});
        }
    return resized(cells, width, height, Resampling::bilinear);
}

/// Grey, so that colours of the image are not taken for those of the map.
Rgb grey_of(Rgb colour) {
    const auto grey = static_cast<std::uint8_t>(std::lround(2.55f * lightness(colour)));
    return {grey, grey, grey};
}

}  // namespace

Image overlaid(const Image& seen, const std::vector<float>& shares, const ImageInput& patches) {
    const int times =
        std::max(1, (min_drawn_side + std::max(seen.width, seen.height) - 1) / std::max(seen.width, seen.height));
    Image picture = resized(seen, times * seen.width, times * seen.height, Resampling::bicubic);
    const Image map = map_of(shares, static_cast<int>(patches.rows()), static_cast<int>(patches.columns()),
                             picture.width, picture.height);
    for (int y = 0; y < picture.height; ++y)
        for (int x = 0; x < picture.width; ++x) {
            const Rgb colour = colour_at(ColourMap::magma, static_cast<float>(map.at(x, y).r) / 255.0f);
            picture.set(x, y, mixed(grey_of(picture.at(x, y)), colour, map_over_image));
        }
    return picture;
}

std::vector<std::string> write_image_overlays(const HeadSurvey& survey, const Image& seen, const std::string& folder) {
    const Model& model = survey.session().model();
    std::vector<std::string> files;
    for (const std::int64_t layer : survey.layers()) {
        files.push_back(folder_path(folder, format("layer-{}-cls.png", layer)));
        write_png(files.back(), overlaid(seen, read_by_class(survey, layer), config_of(model).image),
                  {{"Title", format("layer {}: attention of [CLS], mean of {} heads", layer, survey.heads())},
                   {"Vantage-Model", model.info().name},
                   {"Vantage-Layer", std::to_string(layer)}});
    }
    return files;
}

std::vector<std::string> write_word_overlays(const HeadSurvey& survey, const Image& seen, const std::string& folder) {
    Session& session = survey.session();
    const ModelInfo& info = session.model().info();
    const ImageInput& image = config_of(session.model()).image;
    const std::int64_t patches = image.places() - 1, heads = info.layers * info.heads;
    std::vector<std::string> files;
    for (int token = 0; token < survey.tokens(); ++token) {
        std::vector<float> mean(static_cast<std::size_t>(patches));
        for (std::int64_t i = 0; i < heads; ++i) {
            const HeadId head{i / info.heads, i % info.heads, AttentionKind::cross};
            const Array row = session.attention(head, {token, 1}, {1, patches});
            for (std::size_t p = 0; p < mean.size(); ++p) mean[p] += row.values()[p] / static_cast<float>(heads);
        }
        files.push_back(folder_path(folder, format("token-{}-cross.png", token)));
        write_png(files.back(), overlaid(seen, mean, image),
                  {{"Title", "cross-attention of " + survey.quoted(token) + format(", mean of {} heads", heads)},
                   {"Vantage-Model", info.name},
                   {"Vantage-Token", std::to_string(token)}});
    }
    return files;
}

}  // namespace vantage::cli
