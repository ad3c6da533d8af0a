// What the subcommands of `vantage bench` share: how a report is written, and where each adds itself.
#pragma once

#include <memory>
#include <string>

#include "runtime/bench/report.h"

namespace CLI {
class App;
}

namespace vantage::cli {

/// -o FORMAT and --output FILE.
struct BenchOutput {
    std::string format = "md", file;
    /// Throws usage for a format that does not exist: to be called before anything is measured.
    ReportFormat checked_format() const { return report_format(format); }
    void write(const Report& report) const { write_report(report, checked_format(), file); }
};
void add_bench_model(CLI::App& bench);
void add_bench_view(CLI::App& bench);
void add_bench_output(CLI::App& command, BenchOutput& output);

void add_bench_roofs(CLI::App& bench);
void add_bench_ops(CLI::App& bench);
void add_bench_compare(CLI::App& bench);

}  // namespace vantage::cli
