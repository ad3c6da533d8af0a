// A report as a Markdown table, aligned for terminals.
#pragma once

#include <string>

#include "runtime/bench/report.h"

namespace vantage::internal {

/// The same as report_text(report, ReportFormat::md).
std::string report_table(const Report& report);

}  // namespace vantage::internal
