#include "cli/shared/text_table.h"

#include <algorithm>

#include "runtime/picture/shown_text.h"

namespace vantage::cli {

namespace {

bool is_line(const std::vector<std::string>& cells) { return cells.size() == 2 && cells[0] == "\n"; }
std::size_t width_of(const std::string& cell) { return static_cast<std::size_t>(column_width(std::string_view(cell))); }

}  // namespace

std::string TextTable::text(int indent) const {
    std::vector<std::size_t> widths(alignment_.size(), 0);
    for (const auto& cells : rows_)
        for (std::size_t i = 0; i < cells.size() && i < widths.size() && !is_line(cells); ++i)
            widths[i] = std::max(widths[i], width_of(cells[i]));
    const std::string margin(static_cast<std::size_t>(indent), ' ');
    std::string all;
    for (const auto& cells : rows_) {
        std::string line = margin;
        if (is_line(cells)) line += cells[1];
        for (std::size_t i = 0; i < cells.size() && i < widths.size() && !is_line(cells); ++i) {
            const std::string padding(widths[i] - width_of(cells[i]), ' ');
            line += (i > 0 ? "  " : "") + (alignment_[i] == 'r' ? padding + cells[i] : cells[i] + padding);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        all += line + '\n';
    }
    return all;
}

}  // namespace vantage::cli
