#include "viewer/panels/map_view.h"

#include <algorithm>
#include <cmath>

namespace vantage::view {
namespace {

/// [first, last) moved into [0, all) without changing its length, which is at most `all`.
void keep_inside(double& first, double& last, double all) {
    const double length = std::min(last - first, all);
    first = std::clamp(first, 0.0, all - length);
    last = first + length;
}

Rectangle kept_inside(Rectangle part, std::int64_t rows, std::int64_t columns) {
    keep_inside(part.first_row, part.last_row, static_cast<double>(rows));
    keep_inside(part.first_column, part.last_column, static_cast<double>(columns));
    return part;
}

}  // namespace

std::optional<std::pair<double, double>> MapView::at(float x, float y) const {
    if (!box.has(x, y) || part.rows() <= 0 || part.columns() <= 0) return std::nullopt;
    return std::pair{part.first_row + static_cast<double>(y - box.y) / pixels_per_row(),
                     part.first_column + static_cast<double>(x - box.x) / pixels_per_column()};
}

Rectangle whole_map(std::int64_t rows, std::int64_t columns) {
    return {0, static_cast<double>(rows), 0, static_cast<double>(columns)};
}

Rectangle zoomed(const Rectangle& part, double factor, double row, double column, std::int64_t rows,
                 std::int64_t columns) {
    const double minimum = std::min(min_cells_shown / std::max(part.rows(), 1e-9), 1.0);
    const double maximum = std::max(static_cast<double>(rows) / std::max(part.rows(), 1e-9),
                                    static_cast<double>(columns) / std::max(part.columns(), 1e-9));
    const double by = std::clamp(factor, minimum, std::max(maximum, minimum));
    const Rectangle larger{row - (row - part.first_row) * by, row + (part.last_row - row) * by,
                           column - (column - part.first_column) * by, column + (part.last_column - column) * by};
    return kept_inside(larger, rows, columns);
}

Rectangle moved(const Rectangle& part, double rows, double columns, std::int64_t all_rows, std::int64_t all_columns) {
    const Rectangle there{part.first_row + rows, part.last_row + rows, part.first_column + columns,
                          part.last_column + columns};
    return kept_inside(there, all_rows, all_columns);
}

Rectangle showing(const Rectangle& part, std::int64_t row, std::int64_t column, std::int64_t rows,
                  std::int64_t columns) {
    const auto needed = [](std::int64_t cell, double first, double last) {
        const auto at = static_cast<double>(cell);
        return at < first ? at - first : at + 1 > last ? at + 1 - last : 0.0;
    };
    return moved(part, needed(row, part.first_row, part.last_row), needed(column, part.first_column, part.last_column),
                 rows, columns);
}

Box fitted(const Rectangle& part, const Box& area) {
    if (part.rows() <= 0 || part.columns() <= 0 || area.wide <= 0 || area.high <= 0) return {area.x, area.y, 0, 0};
    const double longer = part.rows() / part.columns() / 2;  // of two sides of a cell, to the shorter one
    const double widened = std::max(longer, 1.0), heightened = std::max(1 / (4 * longer), 1.0);
    const double cell = std::min(static_cast<double>(area.wide) / (part.columns() * widened),
                                 static_cast<double>(area.high) / (part.rows() * heightened));
    // Cells of whole pixels where that costs little: then all look alike.
    const auto even = [](double side) { return side >= 8 ? std::floor(side) : side; };
    const auto wide = static_cast<float>(std::floor(part.columns() * even(cell * widened))),
               high = static_cast<float>(std::floor(part.rows() * even(cell * heightened)));
    return {std::round(area.x + (area.wide - wide) / 2), std::round(area.y), wide, high};
}

}  // namespace vantage::view
