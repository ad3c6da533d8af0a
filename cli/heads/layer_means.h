// The statistics of `vantage heads` by layer: means over the heads of a layer, and how many heads have each pattern.
#pragma once

#include "cli/heads/heads_table.h"
#include "cli/shared/terminal_page.h"

namespace vantage::cli {

struct LayerMeans {
    std::int64_t layer = 0;
    int heads = 0;
    /// Means of numbers_of over the heads where a statistic is defined; NaN: over none.
    std::vector<std::pair<const char*, double>> numbers;
    std::vector<std::pair<HeadPattern::Kind, int>> patterns;  ///< in the order of the table of patterns
    /// A mean by its key in CSV and JSON.
    double mean(std::string_view key) const;
};
/// In the order of the layers, whatever the order of the rows.
std::vector<LayerMeans> layer_means(const HeadsPart& part);

void print_layer_means(const HeadsPart& part, const Page& page);
nlohmann::json layer_means_json(const HeadsPart& part);
/// Relative entropy, distance and patterns by layer, as PNG.
void write_layer_means(const HeadsPart& part, const std::string& title, const std::string& path);

}  // namespace vantage::cli
