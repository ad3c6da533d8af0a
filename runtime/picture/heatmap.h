// The attention map of one head as a picture, with token labels.
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

namespace vantage::internal {

/// Attention weights A[query, key] and labels. Keeps a reference to the weights.
struct HeatmapPicture {
    int rows = 0, cols = 0;                           ///< queries, keys
    std::span<const float> values;                    ///< rows × cols, row-major
    std::vector<std::string> row_labels, col_labels;  ///< decoded texts of the tokens; may be empty
    std::string title;                                ///< "layer 1 · head 0"
    std::string caption;                              ///< model, prompt, …; '\n' breaks lines
    float value_max = 1.0f;                           ///< maximum of the colour bar
    /// Query i sees keys up to i + cols − rows; other cells are drawn as empty, not as zero.
    bool causal = false;
    bool numbers = true;  ///< print weights in the cells if they are large enough
    AttentionScale scale = AttentionScale::square_root;
    ColourMap map = ColourMap::magma;
};

/// Positions in the picture.
struct HeatmapLayout {
    int width = 0, height = 0;  ///< of the picture
    Rect map;                   ///< all cells
    int cell_width = 0, cell_height = 0;
    PooledAttention weights;  ///< the weights of the cells
    std::vector<style::PlacedText> row_labels, col_labels, other_texts;
    Rect cell(int row, int col) const {
        return {map.x + col * cell_width, map.y + row * cell_height, cell_width, cell_height};
    }
};

/// Maps with more columns or rows are pooled by mass.
inline constexpr int max_heatmap_cells = 1500;

/// Throws usage if sizes, weights and labels do not match.
void check_heatmap(const HeatmapPicture& picture);

/// Throws like check_heatmap.
Image draw_heatmap(const HeatmapPicture& picture, HeatmapLayout* layout = nullptr);

/// PNG text chunks: title, caption, scale, colour map, pooling.
std::vector<std::pair<std::string, std::string>> texts_of(const HeatmapPicture& picture);

}  // namespace vantage::internal
