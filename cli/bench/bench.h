// `vantage bench`: the command line of the benchmarks. It parses options, calls the measurements of runtime/bench and
// writes their reports. (The top-level bench/ holds scripts that compare devices and other programs.)
#pragma once

#include <functional>

#include "cli/shared/command_options.h"
#include "runtime/bench/report.h"

namespace vantage::cli {

/// -o FORMAT and --output FILE.
struct BenchOutput {
    std::string format = "md", file;
    /// Throws usage for an unknown format and bad_file for a file that is not writable. Call it before measuring.
    void check() const;
    void write(const Report& report) const { write_report(report, report_format(format), file); }
};
/// Measures, then writes the report. After an error or Ctrl-C it writes the rows so far, with a note, and rethrows.
void measure_and_write(Report& report, const std::function<void()>& measure, const std::function<void()>& write);

void add_bench_model(CLI::App& bench);
void add_bench_train(CLI::App& bench);
void add_bench_view(CLI::App& bench);
void add_bench_roofs(CLI::App& bench);
void add_bench_ops(CLI::App& bench);
void add_bench_compare(CLI::App& bench);
void add_bench_serve(CLI::App& bench);
void add_bench_output(CLI::App& command, BenchOutput& output);
/// Adds --shape: the name of a published shape, instead of --model.
void add_shape_option(CLI::App& command, std::string& shape, const char* description);

}  // namespace vantage::cli
