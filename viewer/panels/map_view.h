// The visible part of the map and its place on the screen: plain arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "viewer/panels/layout.h"

namespace vantage::view {

using Cell = std::pair<std::int64_t, std::int64_t>;  ///< query and column

struct MapView {
    Rectangle part;                      ///< tokens
    Box box;                             ///< pixels
    std::int64_t rows = 0, columns = 0;  ///< of the whole map

    double pixels_per_row() const { return part.rows() > 0 ? static_cast<double>(box.high) / part.rows() : 0; }
    double pixels_per_column() const { return part.columns() > 0 ? static_cast<double>(box.wide) / part.columns() : 0; }
    template <class Number>
    float y_of(Number row) const {
        return box.y + static_cast<float>((static_cast<double>(row) - part.first_row) * pixels_per_row());
    }
    template <class Number>
    float x_of(Number column) const {
        return box.x + static_cast<float>((static_cast<double>(column) - part.first_column) * pixels_per_column());
    }
    /// Row and column at a pixel, as fractions; nothing outside the box.
    std::optional<std::pair<double, double>> at(float x, float y) const;
};

inline constexpr double min_cells_shown = 4;

/// All of a map.
Rectangle whole_map(std::int64_t rows, std::int64_t columns);
/// A part with `factor` times as many cells (< 1 zooms in). The point `row`, `column` keeps its place. At most the
/// whole map, at least a few cells.
Rectangle zoomed(const Rectangle& part, double factor, double row, double column, std::int64_t rows,
                 std::int64_t columns);
/// Moved, but not beyond the map.
Rectangle moved(const Rectangle& part, double rows, double columns, std::int64_t all_rows, std::int64_t all_columns);
/// Moved as little as needed to make the cell visible.
Rectangle showing(const Rectangle& part, std::int64_t row, std::int64_t column, std::int64_t rows,
                  std::int64_t columns);
/// The largest box with square cells in the middle of `area`, on whole pixels. A map of few columns or of few rows, as
/// of cross-attention to a short text, has longer cells, so that it is at least half as wide as high, or as high as wide.
Box fitted(const Rectangle& part, const Box& area);

}  // namespace vantage::view
