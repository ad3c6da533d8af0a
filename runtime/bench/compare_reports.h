// Two runs of a benchmark side by side: what became faster, what slower, beyond noise.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/bench/significance.h"

namespace vantage {

/// One figure of one row in both reports.
struct ReportChange {
    enum Verdict : std::uint8_t { same, faster, slower };
    std::string row;     ///< the row's texts: "matmul 512^3 f32 tiled"
    std::string figure;  ///< "time_us"
    Figure before, after;
    double speed = 1;  ///< how many times as fast
    Verdict verdict = same;
};

struct ReportComparison {
    std::vector<ReportChange> changes;                 ///< in the order of the first report
    std::vector<std::string> only_before, only_after;  ///< rows that the other report has not
    std::vector<std::string> warnings;                 ///< such as another driver
    std::size_t count(ReportChange::Verdict verdict) const;
};

/// The reports are what `-o json` prints. Rows belong together when their texts are the same, the n-th of a text with the n-th,
/// and of these rows figures with a spread are compared by `differ`; rates ("_per_s", "gflops") are better when larger, all
/// others when smaller. Throws bad_file for a file that is no such report or of another schema, and usage for reports of two
/// kinds, without any figure to compare or, unless `any_device`, of two devices.
ReportComparison compare_reports(const Json& before, const std::string& before_name, const Json& after,
                                 const std::string& after_name, bool any_device = false);

}  // namespace vantage
