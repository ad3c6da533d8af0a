// The worked example of the lecture, computed on the device and printed with all its numbers.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "cli/shared/terminal_page.h"
#include "vantage/plan.h"

namespace vantage::cli {

/// Runs the example. Matrices by name: Q, K, V, S, A, Z, Z_fused, and of two heads S_1, A_1, S_2, A_2, each [4, 4].
class WorkedExamplePage {
public:
    explicit WorkedExamplePage(const Device& device);
    void print(const Page& page) const;
    /// The heat maps of the two heads, side by side. Returns the path.
    std::string write_heads(const std::string& folder) const;
    const std::map<std::string, std::vector<float>>& matrices() const { return matrices_; }

private:
    /// A matrix and its heading.
    using Named = std::pair<const char*, const char*>;
    /// Side by side, as many as have room; the others below.
    void print_row(const Page& page, std::span<const Named> matrices) const;
    std::vector<std::string> tokens_;
    std::map<std::string, std::vector<float>> matrices_;
};

}  // namespace vantage::cli
