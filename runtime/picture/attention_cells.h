// The cells of an attention map: pooling, colours, drawing.
#pragma once

#include <span>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/picture/attention_scale.h"
#include "runtime/picture/colour_map.h"

namespace vantage::internal {

/// A map [rows, cols] where each cell covers `row_factor` queries and `col_factor` keys (fewer at the last edges).
struct PooledAttention {
    int rows = 0, cols = 0;
    int row_factor = 1, col_factor = 1;
    std::vector<float> values;
    float at(int row, int col) const {
        return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(col)];
    }
};

/// Sum over the keys, mean over the queries. NaN anywhere in a cell makes the cell NaN.
PooledAttention pool_by_mass(std::span<const float> values, int rows, int cols, int max_rows, int max_cols);

/// The size of a map, and how its weights become colours.
struct AttentionLook {
    int rows = 0, cols = 0;  ///< queries, keys; before pooling
    float value_max = 1.0f;  ///< maximum of the colour bar
    const char* value_name = "attention weight";
    /// Query i sees keys up to i + cols − rows; other cells are drawn as empty, not as zero.
    bool causal = false;
    AttentionScale scale = AttentionScale::square_root;
    ColourMap map = ColourMap::magma;
};

/// Whether a causal mask hides all keys of the cell from all of its queries.
bool is_hidden(const AttentionLook& look, const PooledAttention& weights, int row, int col);
Rgb attention_colour(const AttentionLook& look, float value);
/// Draws all cells from `at`, each `width` × `height` pixels, `space` pixels apart.
void draw_cells(Image& image, Point at, const PooledAttention& weights, const AttentionLook& look, int width,
                int height, int space);

}  // namespace vantage::internal
