// vantage bench roofs: the measured limits of this device.
#include <memory>

#include "cli/bench/bench.h"
#include "cli/shared/commands.h"
#include "cli/shared/progress.h"
#include "runtime/base/format.h"
#include "runtime/bench/roofs.h"

namespace vantage::cli {

namespace {

struct RoofsOptions {
    BenchOutput output;
    bool again = false;
};

Report report_of(const Roofs& roofs, const Caps& caps) {
    Report report("roofs", caps);
    report.environment["measured"] = roofs.date;
    const auto row = [&](const std::string& roof, const char* column, double value) {
        if (value > 0) report.row().set("roof", roof).set(column, value);
    };
    for (const MemoryRoof& m : roofs.memory) row("copy inside of " + bytes_text(m.bytes), "gb_per_s", m.copy_gb_per_s);
    for (const MemoryRoof& m : roofs.memory) row("read inside of " + bytes_text(m.bytes), "gb_per_s", m.read_gb_per_s);
    row("f32 multiply and add", "gflops", roofs.f32_gflops);
    row("f16 multiply and add", "gflops", roofs.f16_gflops);
    row("8-bit dot products", "gflops", roofs.int8_gops);
    for (const MatrixRoof& m : roofs.matrices)
        row(format("matrices {}x{}x{} {}, sums in {}", m.shape.m, m.shape.n, m.shape.k, m.shape.a, m.shape.c), "gflops",
            m.gflops);
    row("launch of an empty kernel", "time_us", roofs.dispatch_us);
    row("launch with a barrier", "time_us", roofs.barrier_us);
    row("submission and wait", "time_us", roofs.submit_us);
    row("compiling a small kernel", "time_us", 1e3 * roofs.compile_ms);
    report.note("Measured " + roofs.date + "; `vantage bench roofs --again` measures again.");
    return report;
}

void run(const RoofsOptions& o) {
    o.output.check();
    const Device device = open_device();
    Progress progress;
    const Roofs roofs = roofs_of(device, o.again, [&](const std::string& what) { progress.show("roofs: " + what); });
    progress.clear();
    o.output.write(report_of(roofs, device.caps()));
}

}  // namespace

void add_bench_roofs(CLI::App& bench) {
    auto o = std::make_shared<RoofsOptions>();
    CLI::App& command = add_command(
        bench, "roofs", "Measure the limits of the device: memory, arithmetic, launches, compilation",
        "Measured once (a few seconds) and saved in the cache directory by UUID of the device and version of the "
        "driver. The other benchmarks compare kernels with these limits.\nExample: vantage bench roofs --again -o "
        "json");
    add_bench_output(command, o->output);
    command.add_flag("--again", o->again, "Measure again, even if the limits are saved");
    command.callback([o] { run(*o); });
}

}  // namespace vantage::cli
