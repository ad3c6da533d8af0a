// Pools large maps to fewer cells so that the sums of rows are kept.
#pragma once

#include <span>
#include <vector>

#include "runtime/base/internal.h"

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

}  // namespace vantage::internal
