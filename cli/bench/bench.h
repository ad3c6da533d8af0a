// `vantage bench`: the command line of the benchmarks. It parses options, calls the measurements of runtime/bench and
// writes their reports. (The top-level bench/ holds scripts that compare devices and other programs.)
#pragma once

#include <functional>

#include "cli/shared/command_options.h"
#include "runtime/bench/report.h"
#include "vantage/session.h"

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
void add_bench_view(CLI::App& bench);
void add_bench_roofs(CLI::App& bench);
void add_bench_ops(CLI::App& bench);
void add_bench_compare(CLI::App& bench);
void add_bench_output(CLI::App& command, BenchOutput& output);
/// Adds --shape: the name of a published shape, instead of --model.
void add_shape_option(CLI::App& command, std::string& shape, const char* description);

/// --quality of `bench model`: the loss of quality by the storage of weights.
struct QualityOptions {
    bool wanted = false;
    std::string text;                        ///< a file; empty: the validation text of the built-in model
    std::int64_t tokens = 4096, window = 0;  ///< window 0: the model's context, at most 512
};
/// Adds one row per storage type: perplexity, and the difference from f32.
void add_quality_rows(Report& report, const Device& device, const QualityOptions& options);

/// The start of `bench model`: the time of a new process until its first token, with empty and filled caches. Runs in
/// the measured process: prints the parts of the start time as one line of JSON, as soon as the first token is there.
/// `load` opens the device and loads the model.
void print_start(const std::function<Model()>& load, const SessionOptions& options);
/// Starts this program several times with `arguments`, which call print_start, and adds rows: empty caches; driver
/// cache filled, Vantage's empty; both filled. The caches are in a temporary folder, so that the user's are not
/// touched.
void add_start_rows(Report& report, const std::vector<std::string>& arguments, int repeats, const std::string& model);

}  // namespace vantage::cli
