#include "runtime/picture/attention_cells.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/picture/picture_style.h"

namespace vantage::internal {

PooledAttention pool_by_mass(std::span<const float> values, int rows, int cols, int max_rows, int max_cols) {
    const std::size_t wanted =
        rows > 0 && cols > 0 ? static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) : 0;
    if (wanted == 0 || values.size() != wanted || max_rows < 1 || max_cols < 1)
        throw usage_error("pooling: {} attention weights do not match {} queries × {} keys", values.size(), rows, cols);
    PooledAttention pooled;
    pooled.row_factor = (rows + max_rows - 1) / max_rows;
    pooled.col_factor = (cols + max_cols - 1) / max_cols;
    pooled.rows = (rows + pooled.row_factor - 1) / pooled.row_factor;
    pooled.cols = (cols + pooled.col_factor - 1) / pooled.col_factor;
    std::vector<double> sums(static_cast<std::size_t>(pooled.cols));
    for (int row = 0; row < pooled.rows; ++row) {
        const int first = row * pooled.row_factor, last = std::min(first + pooled.row_factor, rows);
        std::ranges::fill(sums, 0.0);
        for (int query = first; query < last; ++query) {
            const auto line = values.subspan(static_cast<std::size_t>(query) * static_cast<std::size_t>(cols),
                                             static_cast<std::size_t>(cols));
            for (int key = 0; key < cols; ++key)
                at(sums, key / pooled.col_factor) += static_cast<double>(at(line, key));
        }
        for (const double sum : sums) pooled.values.push_back(static_cast<float>(sum / (last - first)));
    }
    return pooled;
}

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
