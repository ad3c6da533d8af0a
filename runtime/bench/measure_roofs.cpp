#include "runtime/bench/measure_roofs.h"

#include <array>
#include <chrono>

#include "runtime/base/clock.h"
#include "runtime/base/format.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/spirv.h"
#include "runtime/base/version.h"
#include "runtime/bench/report.h"
#include "runtime/bench/roofs.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/pipelines.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/recording.h"
#include "runtime/gpu/transfer.h"
#include "runtime/measure/measure.h"
#include "runtime/ops/coopmat.h"
#include "shaders/params/bench.h"

namespace vantage::internal {

namespace {

using gpu::PipelineKey;
using params::BenchParams;

constexpr double long_enough = 0.02;  // seconds: much longer than a launch, shorter than watchdog limits
constexpr double sampling = 0.2;      // seconds for the samples of one figure; the best counts
constexpr int samples = 7;            // maximum, for short runs
constexpr std::uint32_t max_passes = 1u << 16;
// Working sets, from the cache of one core to more than any cache.
constexpr std::array<std::uint64_t, 5> working_sets{512u << 10, 2u << 20, 8u << 20, 64u << 20, 512u << 20};

params::uvec2 halves(std::uint64_t address) {
    return {static_cast<std::uint32_t>(address), static_cast<std::uint32_t>(address >> 32)};
}

class RoofMeter {
public:
    RoofMeter(const Device& device, const RoofProgress& progress)
        : device_(device), state_(device.state()), caps_(device.caps()), progress_(progress) {}

    Roofs measure();

private:
    void say(const std::string& what) const {
        throw_if_interrupted();
        if (progress_) progress_(what);
    }
    double run(const gpu::Recording& recording) const;
    double seconds(const PipelineKey& key, const BenchParams& params, std::array<std::uint32_t, 3> groups) const;
    double seconds_a_pass(const std::function<double(std::uint32_t passes)>& timed) const;
    double rate(const PipelineKey& key, double operations, std::uint32_t lanes) const;
    std::vector<MemoryRoof> memory() const;
    std::vector<MatrixRoof> matrices() const;
    double launch_us(bool barriers) const;
    double submission_us() const;
    double compile_ms() const;
    void allocate_operands();

    // On CPU devices a subgroup is one vector register; more subgroups per workgroup only add cost.
    std::uint32_t lanes() const {
        return caps_.is_cpu() ? std::clamp(caps_.subgroup_size, 4u, 64u) : workgroup_size(caps_);
    }

    // For arithmetic: more than the largest GPU runs at a time; on CPU devices more than the threads.
    std::uint32_t invocations() const { return caps_.is_cpu() ? 1u << 13 : 1u << 18; }

    const Device& device_;
    gpu::DeviceState& state_;
    const Caps& caps_;
    const RoofProgress& progress_;
    gpu::Buffer factors_, results_;  // of the arithmetic kernels: factors; one result per invocation
};

// Seconds of the recording's single dispatch, by device timestamps if supported.
double RoofMeter::run(const gpu::Recording& recording) const {
    throw_if_interrupted();
    const gpu::Recording* one[] = {&recording};
    const double begin = seconds_now();
    gpu::wait(state_, gpu::submit(state_, one));
    const double host = seconds_now() - begin;
    const auto timings = recording.timings();
    return timings.empty() ? host : 1e-9 * static_cast<double>(timings[0].end_ns - timings[0].begin_ns);
}

double RoofMeter::seconds(const PipelineKey& key, const BenchParams& params,
                          std::array<std::uint32_t, 3> groups) const {
    gpu::Recording recording(state_, key.module, 1);
    recording.dispatch(gpu::pipeline(state_, key), std::as_bytes(std::span(&params, 1)), groups, key.module);
    recording.end();
    double best = run(recording);
    for (double spent = best; best >= long_enough / 2 && spent < sampling;) {
        const double taken = run(recording);
        best = std::min(best, taken);
        spent += taken;
    }
    return best;
}

// Finds a number of passes that is long enough. The first run compiles, so the second one counts.
double RoofMeter::seconds_a_pass(const std::function<double(std::uint32_t passes)>& timed) const {
    std::uint32_t passes = 1;
    static_cast<void>(timed(passes));
    double taken = timed(passes);
    while (taken < long_enough && passes < max_passes) {
        const double more = std::clamp(1.5 * long_enough / std::max(taken, 1e-7), 2.0, 64.0);
        passes = static_cast<std::uint32_t>(std::min<double>(passes * more, max_passes));
        taken = timed(passes);
    }
    return taken / passes;
}

// 10^9 operations per second of a kernel with `operations` per pass and invocation.
double RoofMeter::rate(const PipelineKey& key, double operations, std::uint32_t lanes) const {
    const double pass = seconds_a_pass([&](std::uint32_t passes) {
        const BenchParams params{.x = halves(factors_.address()),
                                 .y = halves(results_.address()),
                                 .passes = passes,
                                 .factor = 0.999f,
                                 .summand = 0.001f};
        return seconds(key, params, flat_grid(invocations() / lanes, caps_));
    });
    return 1e-9 * operations * invocations() / pass;
}

std::vector<MemoryRoof> RoofMeter::memory() const {
    std::vector<MemoryRoof> found;
    const std::uint64_t max_bytes =
        std::min({device_.memory_available() / 4, caps_.max_allocation, working_sets.back()});
    const std::uint32_t each = caps_.is_cpu() ? 8 : 4, chunk = lanes() * each * 16;  // bytes
    const std::string module = caps_.loads_uniform_once() && lanes() <= 16 ? "bench_copy_cpu_simd" : "bench_copy";
    const gpu::Buffer memory = gpu::allocate(state_, max_bytes, gpu::MemoryKind::device, "working set");
    gpu::fill(state_, memory, 0, max_bytes / 4 * 4, 0x3f800000);  // ones
    const auto rate = [&](std::uint64_t bytes, bool writes) {
        const std::uint64_t source = (writes ? bytes / 2 : bytes) / chunk * chunk;
        const BenchParams params{.x = halves(memory.address()),
                                 .y = halves(memory.address() + (writes ? source : 0)),
                                 .chunks = static_cast<std::uint32_t>(source / chunk),
                                 .factor = 1};
        const double pass = seconds_a_pass([&](std::uint32_t passes) {
            return seconds({module, params::BenchCopyConstants{.lanes = lanes(), .EACH = each, .WRITES = writes}},
                           params, flat_grid(std::uint64_t{params.chunks} * passes, caps_));
        });
        return 1e-9 * static_cast<double>(writes ? 2 * source : source) / pass;
    };
    for (const std::uint64_t bytes : working_sets) {
        if (bytes > max_bytes) break;
        say(format("reading and copying inside of {:.1f} MiB", static_cast<double>(bytes) / 0x1p20));
        found.push_back({.bytes = bytes, .copy_gb_per_s = rate(bytes, true), .read_gb_per_s = rate(bytes, false)});
    }
    return found;
}

std::vector<MatrixRoof> RoofMeter::matrices() const {
    std::vector<MatrixRoof> found;
    for (const CooperativeMatrix& m : caps_.cooperative_matrices) {
        const std::uint32_t subgroup = matrix_subgroup(m, caps_), size = subgroup * (caps_.is_cpu() ? 1 : 4);
        const std::string module = "bench_matrix_" + m.a + "_" + m.c;
        const bool held = m.a == "s8" ? caps_.int8 && caps_.storage8 : caps_.fp16 && caps_.storage16;
        if (m.a != m.b || find_spirv(module) == nullptr || !held) continue;
        say(format("multiplying {}x{}x{} {}", m.m, m.n, m.k, m.a));
        const bool select = caps_.subgroup_size_control && caps_.min_subgroup_size != caps_.max_subgroup_size;
        const PipelineKey key{module, params::BenchMatrixConstants{.lanes = size, .M = m.m, .N = m.n, .K = m.k},
                              select ? subgroup : 0};
        const double operations = 16.0 * 2 * m.m * m.n * m.k / subgroup;
        found.push_back({m, rate(key, operations, size)});
    }
    return found;
}

// Host time of many launches minus that of few, so that the submission does not count.
double RoofMeter::launch_us(bool barriers) const {
    constexpr int few = 100, many = 1100;
    const auto timed = [&](int count) {
        gpu::Recording recording(state_, "launches");
        for (int i = 0; i < count; ++i) {
            recording.dispatch(gpu::pipeline(state_, {"bench_empty", {}}), {}, {1, 1, 1});
            if (barriers) recording.barrier();
        }
        recording.end();
        double best = run(recording);
        for (int i = 0; i < samples; ++i) best = std::min(best, run(recording));
        return best;
    };
    const double base = timed(few);
    return std::max(0.0, 1e6 * (timed(many) - base) / (many - few));
}

double RoofMeter::submission_us() const {
    gpu::Recording recording(state_, "nothing");
    recording.end();
    std::vector<double> taken;
    for (int i = 0; i < 5 * samples; ++i) taken.push_back(run(recording));
    return 1e6 * measurement_of(taken).median;
}

// The time is a constant of the kernel, so that it is in no cache. Time until the end of the first run, minus a second
// run.
double RoofMeter::compile_ms() const {
    std::vector<double> taken;
    for (std::uint32_t i = 0; i < 3; ++i) {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        const auto salt = static_cast<std::uint32_t>(now / std::chrono::microseconds(1)) + i;
        const BenchParams params{.x = {}, .y = halves(results_.address()), .passes = 1};
        const double begin = seconds_now();
        const PipelineKey key{"bench_fma", params::BenchFmaConstants{.lanes = lanes(), .SALT = salt}};
        gpu::Recording recording(state_, "first run");
        recording.dispatch(gpu::pipeline(state_, key), std::as_bytes(std::span(&params, 1)), {1, 1, 1});
        recording.end();
        run(recording);
        const double first = seconds_now() - begin, second = run(recording);
        taken.push_back(1e3 * (first - second));
    }
    return measurement_of(taken).median;
}

// Results: one number per invocation, and one tile per subgroup for matrices. Factors: two tiles of a and two of b, at
// most four bytes per element.
void RoofMeter::allocate_operands() {
    std::uint64_t results = 4ull * invocations(), factors = 256;
    for (const CooperativeMatrix& m : caps_.cooperative_matrices) {
        results = std::max<std::uint64_t>(results, 4ull * m.m * m.n * (invocations() / matrix_subgroup(m, caps_)));
        factors = std::max<std::uint64_t>(factors, 8ull * std::max(m.m, m.n) * m.k);
    }
    results_ = gpu::allocate(state_, results, gpu::MemoryKind::device, "results");
    factors_ = gpu::allocate(state_, factors, gpu::MemoryKind::device, "factors");
    gpu::fill(state_, factors_, 0, factors_.bytes(), 0x3c013a03);  // small numbers in every type; neighbours differ
}

Roofs RoofMeter::measure() {
    Roofs r{.device = caps_.name,
            .driver = caps_.driver,
            .driver_version = caps_.driver_version,
            .uuid = uuid_text(caps_.uuid),
            .date = bench_environment("roofs", caps_).at("date"),
            .memory = memory(),
            .matrices = {}};
    allocate_operands();
    say("f32 arithmetic");
    r.f32_gflops = rate({"bench_fma", params::BenchFmaConstants{.lanes = lanes()}}, 20.0 * 3 * 4 * 2, lanes());
    if (caps_.fp16 && has_family("fp16")) {
        say("f16 arithmetic");
        r.f16_gflops = rate({"bench_fma_f16", params::BenchFmaConstants{.lanes = lanes()}}, 20.0 * 3 * 4 * 2, lanes());
    }
    if (caps_.integer_dot && has_family("integer_dot")) {
        say("8-bit dot products");
        r.int8_gops = rate({"bench_dot", params::WorkgroupConstants{.lanes = lanes()}}, 20.0 * 8 * 8, lanes());
    }
    r.matrices = matrices();
    say("launches");
    r.dispatch_us = launch_us(false);
    r.barrier_us = launch_us(true);
    r.submit_us = submission_us();
    say("compiling");
    r.compile_ms = compile_ms();
    return r;
}

}  // namespace

Roofs measure_roofs(const Device& device, const RoofProgress& progress) {
    return RoofMeter(device, progress).measure();
}

}  // namespace vantage::internal
