// Draws the cells of an attention map.
#pragma once

#include "runtime/io/image.h"
#include "runtime/picture/attention_pool.h"
#include "runtime/picture/attention_scale.h"
#include "runtime/picture/colour_map.h"

namespace vantage::internal {

/// How weights become colours.
struct AttentionLook {
    ColourMap map = ColourMap::magma;
    AttentionScale scale = AttentionScale::square_root;
    float value_max = 1.0f;
    bool causal = false;     ///< query i sees keys up to i + cols − rows
    int rows = 0, cols = 0;  ///< queries and keys before pooling
};

/// Whether a causal mask hides all keys of the cell from all of its queries.
bool is_hidden(const AttentionLook& look, const PooledAttention& weights, int row, int col);
Rgb attention_colour(const AttentionLook& look, float value);
/// Draws all cells from `at`, each `width` × `height` pixels, `space` pixels apart.
void draw_cells(Image& image, Point at, const PooledAttention& weights, const AttentionLook& look, int width,
                int height, int space);

}  // namespace vantage::internal
