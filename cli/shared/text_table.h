// A table of text: cells are padded to the widest cell of their column.
#pragma once

#include <string>
#include <vector>

namespace vantage::cli {

class TextTable {
public:
    /// One letter per column: l left, r right.
    explicit TextTable(std::string alignment) : alignment_(std::move(alignment)) {}

    /// Missing cells are empty.
    void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    /// A line that ignores the columns.
    void line(const std::string& text) { rows_.push_back({"\n", text}); }
    /// All rows, indented by `indent` spaces, with two spaces between columns.
    std::string text(int indent = 2) const;

private:
    std::string alignment_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace vantage::cli
