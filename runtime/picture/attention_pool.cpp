#include "runtime/picture/attention_pool.h"

#include <algorithm>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"

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

}  // namespace vantage::internal
