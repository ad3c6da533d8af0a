// vantage bench ops: every op at the shapes of models, with every kernel that fits.
#include <algorithm>
#include <memory>
#include <set>

#include "cli/bench/bench.h"
#include "cli/shared/commands.h"
#include "cli/shared/kernel_option.h"
#include "cli/shared/progress.h"
#include "runtime/base/clock.h"
#include "runtime/base/files.h"
#include "runtime/bench/ops_bench.h"
#include "runtime/bench/roofline_chart.h"

namespace vantage::cli {

namespace {

struct OpsOptions {
    BenchOutput output;
    std::string op, kernel, part_of_case, roofline;
    std::size_t repeats = 5;
    bool quick = false, again = false;
};

constexpr double quick_seconds = 90;  // the last case may take longer: less than two minutes in total

std::vector<BenchCase> cases_of(const OpsOptions& o) {
    std::vector<std::string> ops;
    std::set<std::string> kernels;
    for (const OpDef* op : all_ops()) {
        ops.emplace_back(op->name);
        if (o.op.empty() || o.op == op->name)
            for (const Kernel& kernel : op->kernels) kernels.insert(kernel.name);
    }
    require_known("bench ops", "op", o.op, ops);
    require_known("bench ops", "kernel", o.kernel, kernels);
    std::vector<BenchCase> cases = bench_cases(o.quick);
    std::erase_if(cases, [&](const BenchCase& one) {
        return (!o.op.empty() && o.op != one.call.op->name) || one.name.find(o.part_of_case) == std::string::npos;
    });
    if (cases.empty())
        throw usage_error("bench ops: no case has \"{}\" in its name{}", o.part_of_case,
                          o.op.empty() ? "" : " for op " + o.op);
    return cases;
}

void run(const OpsOptions& o) {
    o.output.check();
    if (!o.roofline.empty()) require_picture_name(o.roofline), require_writable(o.roofline);
    const std::vector<BenchCase> cases = cases_of(o);
    const double begin = seconds_now();
    const Device device = open_device();
    Progress progress;
    const Roofs roofs = roofs_of(device, o.again, [&](const std::string& what) { progress.show("roofs: " + what); });
    Report report("ops", device.caps());
    report.environment["roofs"] = roofs_to_json(roofs);
    OpsBenchOptions options{.kernel = o.kernel, .repeats = o.repeats};
    if (o.quick) {
        options.seconds = 0.05, options.longest_case = 1.5, options.longest_kernel = 0.3, options.patience = 1;
        options.budget =
            std::max(1.0, quick_seconds - (seconds_now() - begin));  // measuring the roofs may have taken some of it
    }
    OpsBench bench(device, roofs, options, report, [&](std::size_t done, std::size_t all, const std::string& what) {
        progress.show(format("{} of {}: {}", done + 1, all, what));
    });
    const auto write = [&] {
        progress.clear();
        o.output.write(report);
        if (!o.roofline.empty()) write_roofline(o.roofline, roofline_of(report, roofs));
    };
    measure_and_write(
        report,
        [&] {
            bench.run(cases);
            if (report.rows.empty())
                throw usage_error("bench ops: nothing to measure: this device or case does not support this kernel");
        },
        write);
    if (bench.failures() > 0) {
        log(LogLevel::error, "{} rows have an error instead of figures", bench.failures());
        set_exit_code(exit_code(bench.first_failure()));
    }
}

}  // namespace

void add_bench_ops(CLI::App& bench) {
    auto o = std::make_shared<OpsOptions>();
    CLI::App& command = add_command(
        bench, "ops", "Measure every op at the shapes of models, with every kernel that fits",
        "The kernel that plans choose, by tuning table and capabilities, is marked *. A line says where another "
        "kernel was faster beyond noise. Cases that would take more than 5 s at the roof are skipped. If a case or "
        "kernel fails, such as for lack of device memory, its row has the error, and the exit code is that of the "
        "first error (4: out of memory). Ctrl-C writes the rows so far.\n"
        "Examples:\n  vantage bench ops --quick\n  vantage bench ops --op matmul --case llama-8b -o json --output "
        "now.json\n"
        "  vantage bench ops --roofline roofline.png");
    add_option(command, "--op", o->op, "Only this op", "NAME");
    add_kernel_option(command, o->kernel);
    add_option(command, "--case", o->part_of_case, "Only cases with PART in their name", "PART");
    command.add_flag("--quick", o->quick, "Measure a few cases; less than two minutes even on a CPU device");
    add_setting(command, "--repeats", o->repeats, "Minimum number of samples per kernel")
        ->check(CLI::Range(std::size_t{1}, std::size_t{10000}));
    command.add_flag("--again", o->again, "Measure the roofs again, in the same run");
    add_option(command, "--roofline", o->roofline, "Write a roofline plot with all kernels: FILE.png or FILE.svg",
               "FILE");
    add_bench_output(command, o->output);
    command.callback([o, &command] {
        refuse_unless(!o->quick, command, "--repeats", "has no effect on --quick, which has a time for each kernel");
        o->kernel = kernel_wanted(o->op, o->kernel);
        run(*o);
    });
}

}  // namespace vantage::cli
