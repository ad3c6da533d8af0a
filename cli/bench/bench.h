// What the subcommands of `vantage bench` share: how a report is written, and where each adds itself.
#pragma once

#include <functional>
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
    /// Throws usage for a format that does not exist and bad_file for a file that cannot be written: to be called before
    /// anything is measured.
    void check() const;
    void write(const Report& report) const { write_report(report, report_format(format), file); }
};
/// Measures, then writes. An error or Ctrl-C on the way ends all, but what was measured until then is written, and a note says so.
void measure_and_write(Report& report, const std::function<void()>& measure, const std::function<void()>& write);

void add_bench_model(CLI::App& bench);
void add_bench_view(CLI::App& bench);
void add_bench_output(CLI::App& command, BenchOutput& output);

void add_bench_roofs(CLI::App& bench);
void add_bench_ops(CLI::App& bench);
void add_bench_compare(CLI::App& bench);

}  // namespace vantage::cli
