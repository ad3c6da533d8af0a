// Compares two reports of a benchmark: what became faster or slower, beyond noise.
#pragma once

#include <string>
#include <vector>

#include "runtime/bench/report.h"

namespace vantage::internal {

/// One figure of one row in both reports.
struct ReportChange {
    enum Verdict : std::uint8_t { same, faster, slower };
    std::string row;     ///< the texts of the row: "matmul 512^3 f32 tiled"
    std::string figure;  ///< "time_us"
    Spread before, after;
    double speed = 1;  ///< speed after / speed before; infinite where a time of 0 follows, or a rate follows 0
    Verdict verdict = same;
};

struct ReportComparison {
    std::vector<ReportChange> changes;                 ///< in the order of the first report
    std::vector<std::string> only_before, only_after;  ///< rows without a match
    std::vector<std::string> warnings;                 ///< such as another driver
    std::size_t count(ReportChange::Verdict verdict) const;
};

/// Compares two reports of `-o json`. Rows match if their texts are equal (old names of kernels count as the new ones);
/// among equal rows the n-th matches the n-th. Figures with a spread are compared by `differ`. Rates ("_per_s",
/// "gflops") are better if larger, all others if smaller. Throws bad_file for other files and other schema versions.
/// Throws usage for reports of different kinds, without a common figure or, unless `any_device`, of different devices.
ReportComparison compare_reports(const Json& before, const std::string& before_name, const Json& after,
                                 const std::string& after_name, bool any_device = false);

}  // namespace vantage::internal
