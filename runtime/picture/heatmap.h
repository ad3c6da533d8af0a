// The attention map of one head as a picture, with token labels.
#pragma once

#include "runtime/picture/picture_style.h"
#include "runtime/picture/png.h"

namespace vantage::internal {

/// Attention weights A[query, key] and labels. Keeps a reference to the weights.
struct HeatmapPicture : AttentionLook {
    std::span<const float> values;                                        ///< rows × cols, row-major
    std::vector<std::string> row_labels, col_labels;                      ///< decoded texts of the tokens; may be empty
    const char *across = "key (attended to)", *down = "query (attends)";  ///< titles of the axes
    std::string title;                                                    ///< "layer 1 · head 0"
    std::string caption;                                                  ///< model, prompt, …; '\n' breaks lines
    bool numbers = true;  ///< print weights in the cells if they are large enough
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
PngTexts texts_of(const HeatmapPicture& picture);

}  // namespace vantage::internal
