#include "runtime/picture/attention_cells.h"

#include <algorithm>
#include <cmath>

#include "runtime/picture/picture_style.h"

namespace vantage::internal {

bool is_hidden(const AttentionLook& look, const PooledAttention& weights, int row, int col) {
    if (!look.causal) return false;
    const int last_query = std::min((row + 1) * weights.row_factor, look.rows) - 1;
    return col * weights.col_factor > last_query + look.cols - look.rows;
}

Rgb attention_colour(const AttentionLook& look, float value) {
    if (std::isnan(value)) return style::not_a_number;
    return colour_at(look.map, position_of(value, look.value_max, look.scale));
}

void draw_cells(Image& image, Point at, const PooledAttention& weights, const AttentionLook& look, int width,
                int height, int space) {
    fill(image, {at.x, at.y, weights.cols * width, weights.rows * height}, style::surface);
    for (int row = 0; row < weights.rows; ++row) {
        for (int col = 0; col < weights.cols; ++col) {
            if (is_hidden(look, weights, row, col)) continue;
            const Rect cell{at.x + col * width, at.y + row * height, width - space, height - space};
            fill(image, cell, attention_colour(look, weights.at(row, col)));
        }
    }
}

}  // namespace vantage::internal
