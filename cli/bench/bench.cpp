// vantage bench: how fast this device is, and how near to its limits the kernels come.
#include "cli/bench/bench.h"

#include <CLI/CLI.hpp>

#include "cli/shared/commands.h"
#include "runtime/base/os.h"
#include "vantage/error.h"

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
                        ? "! Ctrl-C: what would have come behind these was not measured."
                        : "! What would have come behind these was not measured: " + std::string(error.what()));
        write();
        throw;
    }
    write();
}

void add_bench_output(CLI::App& command, BenchOutput& output) {
    command.add_option("-o", output.format, "md (a table), csv, json or jsonl (a JSON object on each line)")
        ->type_name("FORMAT")
        ->capture_default_str();
    command.add_option("--output", output.file, "Write to FILE instead of stdout")->type_name("FILE");
}

void add_bench(CLI::App& app) {
    CLI::App* bench = app.add_subcommand("bench", "Measure this device and the kernels on it");
    bench->footer("See docs/benchmarks.md for what is measured and how to read it.");
    bench->require_subcommand(1);
    add_bench_model(*bench);
    add_bench_ops(*bench);
    add_bench_roofs(*bench);
    add_bench_compare(*bench);
    add_bench_view(*bench);
}

}  // namespace vantage::cli
