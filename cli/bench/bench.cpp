// vantage bench: the speed of models and kernels on this device, relative to its limits.
#include "cli/bench/bench.h"

#include "cli/shared/commands.h"
#include "runtime/base/files.h"
#include "runtime/models/shapes.h"

namespace vantage::cli {

void BenchOutput::check() const {
    static_cast<void>(report_format(format));
    if (!file.empty()) require_writable(file);
}

void measure_and_write(Report& report, const std::function<void()>& measure, const std::function<void()>& write) {
    try {
        measure();
    } catch (const Error& error) {
        if (report.rows.empty()) throw;
        report.note(error.kind() == ErrorKind::interrupted
                        ? "! Interrupted: later rows were not measured."
                        : "! Later rows were not measured: " + std::string(error.what()));
        write();
        throw;
    }
    write();
}

void add_bench_output(CLI::App& command, BenchOutput& output) {
    add_option(command, "-o,--format", output.format,
               "Output format: md (a table), csv, json, or jsonl (one JSON object per line)", "FORMAT")
        ->capture_default_str();
    add_option(command, "--output", output.file, "Write to FILE instead of stdout", "FILE");
}

void add_shape_option(CLI::App& command, std::string& shape, const char* description) {
    std::vector<std::string> names;
    for (const NamedShape& known : named_shapes()) names.emplace_back(known.name);
    command.add_option("--shape", shape, description)->check(CLI::IsMember(names))->excludes("--model");
}

void add_bench(CLI::App& app) {
    CLI::App& bench = add_command(app, "bench", "Measure models, kernels and the limits of this device",
                                  "docs/benchmarks.md explains the measurements and the columns.");
    bench.require_subcommand(1);
    for (const auto add : {add_bench_model, add_bench_train, add_bench_serve, add_bench_ops, add_bench_roofs,
                           add_bench_compare, add_bench_view})
        add(bench);
}

}  // namespace vantage::cli
