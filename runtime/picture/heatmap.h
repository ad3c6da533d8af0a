// The attention of one head as a picture: who reads whom, with the tokens beside it.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/picture/attention_pool.h"
#include "runtime/picture/attention_scale.h"
#include "runtime/picture/colour_map.h"
#include "runtime/picture/picture_style.h"

namespace vantage {

/// Attention weights A[query, key] and what to write beside them. Only refers to the weights.
struct HeatmapPicture {
    int rows = 0, cols = 0;                           ///< queries, keys
    std::span<const float> values;                    ///< rows × cols, row after row
    std::vector<std::string> row_labels, col_labels;  ///< text of the tokens as it is decoded; or none at all
    std::string title;                                ///< "layer 1 · head 0"
    std::string caption;                              ///< model, prompt, …; '\n' breaks lines
    float value_max = 1.0f;                           ///< the bright end of the colour bar
    /// Query i sees the keys up to i + cols − rows; the rest is drawn as empty, not as zero.
    bool causal = false;
    bool numbers = true;  ///< written into the cells where they are large enough
    AttentionScale scale = AttentionScale::square_root;
    ColourMap map = ColourMap::magma;
};

/// Where a picture has what.
struct HeatmapLayout {
    int width = 0, height = 0;  ///< of the picture
    Rect map;                   ///< all cells
    int cell_width = 0, cell_height = 0;
    PooledAttention weights;  ///< what the cells show
    std::vector<style::PlacedText> row_labels, col_labels, other_texts;
    Rect cell(int row, int col) const {
        return {map.x + col * cell_width, map.y + row * cell_height, cell_width, cell_height};
    }
};

/// Maps of more columns or rows than this are pooled by mass.
inline constexpr int max_heatmap_cells = 1500;

/// Throws `usage` when sizes, weights and labels do not fit together.
void check_heatmap(const HeatmapPicture& picture);

/// Throws as `check_heatmap` does.
Image draw_heatmap(const HeatmapPicture& picture, HeatmapLayout* layout = nullptr);

/// The texts that go with a PNG of it: title, caption, scale, colour map, pooling.
std::vector<std::pair<std::string, std::string>> texts_of(const HeatmapPicture& picture);

}  // namespace vantage
