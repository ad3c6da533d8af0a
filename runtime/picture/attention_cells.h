// The cells of a map of attention weights, large or small.
#pragma once

#include "runtime/io/image.h"
#include "runtime/picture/attention_pool.h"
#include "runtime/picture/attention_scale.h"
#include "runtime/picture/colour_map.h"

namespace vantage {

/// How weights become colours.
struct AttentionLook {
    ColourMap map = ColourMap::magma;
    AttentionScale scale = AttentionScale::square_root;
    float value_max = 1.0f;
    bool causal = false;     ///< query i sees the keys up to i + cols − rows
    int rows = 0, cols = 0;  ///< queries and keys before pooling
};

/// With causal attention: no query of the cell sees any of its keys.
bool is_hidden(const AttentionLook& look, const PooledAttention& weights, int row, int col);
Rgb attention_colour(const AttentionLook& look, float value);
/// Draws all cells, each `width` × `height` pixels with `space` pixels between, from `at` on.
void draw_cells(Image& image, Point at, const PooledAttention& weights, const AttentionLook& look, int width,
                int height, int space);

}  // namespace vantage
