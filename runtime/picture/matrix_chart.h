// Matrices of numbers of either sign as heat maps, one below the other, with a common look.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/picture/picture_style.h"

namespace vantage::internal {

struct MatrixPanel {
    std::string title, rows_name, columns_name;
    int rows = 0, columns = 0;
    std::function<double(int row, int column)> value;                  ///< NaN: an empty cell
    double maximum = 1;                                                ///< colours go from −maximum to maximum
    std::vector<std::pair<int, std::string>> row_marks, column_marks;  ///< names of single rows and columns
};

struct MatrixChart {
    std::string title, caption;
    std::vector<MatrixPanel> panels;
};

struct MatrixLayout {
    std::vector<Rect> maps;
    std::vector<style::PlacedText> texts;
};

/// Cells are at least one pixel, so panels have at most 2048 rows and columns. Throws usage for others, and for a
/// maximum that is not above 0.
Image draw_matrix_chart(const MatrixChart& chart, MatrixLayout* layout = nullptr);

/// Marks at round steps, about `count` of them: "0", "50", "100".
std::vector<std::pair<int, std::string>> round_marks(int cells, int count, int first = 0);

}  // namespace vantage::internal
