#include "runtime/bench/ops_bench.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/base/clock.h"
#include "runtime/base/format.h"
#include "runtime/base/interrupt.h"
#include "runtime/exec/tuning_files.h"
#include "runtime/graph/choose_kernel.h"

namespace vantage::internal {

namespace {

constexpr double unknown_slowness = 4;  // assumed for kernels that are not chosen and not measured yet

Arithmetic unit_of(const Kernel& kernel) {
    if ((kernel.needs & need_coopmat) != 0) return Arithmetic::matrix;
    if ((kernel.needs & need_int8_dot) != 0) return Arithmetic::int8;
    return (kernel.needs & need_fp16) != 0 ? Arithmetic::f16 : Arithmetic::f32;
}

// Matrix units multiply bytes in kernels for those, bf16 if the call has bf16 operands, else f16 (other operands are
// rounded).
double rate_of(const Kernel& kernel, const OpCall& call, const Roofs& roofs) {
    const Arithmetic unit = unit_of(kernel);
    if (unit != Arithmetic::matrix) return roofs.arithmetic_gflops(unit);
    if ((kernel.needs & need_int8_dot) != 0) return roofs.arithmetic_gflops(unit, "s8");
    const bool bf16 = std::ranges::any_of(call.inputs, [](const auto& in) { return in && in->dtype == DType::bf16; });
    const double rate = bf16 ? roofs.arithmetic_gflops(unit, "bf16") : 0;
    return rate > 0 ? rate : roofs.arithmetic_gflops(unit, "f16");
}

constexpr std::array unit_names{"f32", "f16", "int8", "matrix"};  // by Arithmetic

Spread figure_of(const Measurement& m) { return {m.median, m.deviation}; }

// The storage types of the operands, without repetitions: "f32", "f32 f16".
std::string types_text(const OpCall& call) {
    std::vector<std::string> types;
    for (const auto& input : call.inputs)
        if (input && input->dtype != DType::i32 && input->dtype != DType::u32)
            if (const char* type = name_of(input->dtype); std::ranges::count(types, type) == 0)
                types.emplace_back(type);
    return join(types, " ");
}

}  // namespace

RoofOfCall roof_of(const BenchCase& one, const Roofs& roofs, const Caps& caps) {
    const Cost cost = one.cost();
    const double flops = cost.flops, moving = roofs.seconds_moving(cost.bytes_read, cost.bytes_written);
    RoofOfCall roof{"memory", moving, moving > 0 ? 1e-9 * cost.bytes() / moving : 0};
    double fastest = 0;
    Arithmetic unit = Arithmetic::f32;
    for (const Kernel& kernel : one.call.op->kernels) {
        if (!eligible(kernel, one.call, caps)) continue;
        if (const double rate = rate_of(kernel, one.call, roofs); rate > fastest)
            fastest = rate, unit = unit_of(kernel);
    }
    if (fastest > 0 && 1e-9 * flops / fastest > roof.seconds)
        roof = {at(unit_names, unit), 1e-9 * flops / fastest, fastest};
    return roof;
}

OpsBench::OpsBench(const Device& device, const Roofs& roofs, OpsBenchOptions options, Report& report, Progress progress)
    : device_(device),
      roofs_(roofs),
      options_(std::move(options)),
      report_(report),
      progress_(std::move(progress)),
      begin_(seconds_now()) {}

// Infinite without a budget.
double OpsBench::seconds_left() const {
    return options_.budget > 0 ? options_.budget - (seconds_now() - begin_) : HUGE_VAL;
}

void OpsBench::run(std::span<const BenchCase> cases) {
    if (const std::size_t tuned = tuning_of(device_.caps()).calls.size(); tuned > 0)
        report_.note(
            format("*: the kernel that plans choose, by tuning tables with {} calls, else by capabilities; "
                   "VANTAGE_DISABLE_TUNING=1 ignores tables.",
                   tuned));
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const double left = seconds_left();
        if (left <= 0) {
            ++out_of_time_;
            continue;
        }
        case_end_ = seconds_now() + left / static_cast<double>(cases.size() - i);
        throw_if_interrupted();
        if (progress_) progress_(i, cases.size(), std::string(cases[i].call.op->name) + " " + cases[i].name);
        case_ = &cases[i];
        run_case();
    }
    constexpr double clearly_above = 110;  // percent
    if (largest_share_ > clearly_above)
        report_.note(format(
            "Up to {:.0f} % of a roof: the machine was busy when the roofs were measured ({}). On an idle machine "
            "--again measures them again.",
            largest_share_, roofs_.date));
    if (out_of_time_ > 0)
        report_.note(
            format("{} of {} cases were not reached in {:.0f} s.", out_of_time_, cases.size(), options_.budget));
}

void OpsBench::run_case() {
    const OpCall& call = case_->call;
    const Caps& caps = device_.caps();
    std::vector<const Kernel*> kernels;
    for (const Kernel& kernel : call.op->kernels)
        if (eligible(kernel, call, caps) && (options_.kernel.empty() || options_.kernel == kernel.name))
            kernels.push_back(&kernel);
    if (kernels.empty()) return;
    roof_ = roof_of(*case_, roofs_, caps);
    chosen_ = choose_kernel(call, caps, &tuning_of(caps));
    if (roof_.seconds > options_.longest_case)
        row_of(nullptr).set("note", format("skipped: {:.1f} s at the {} roof", roof_.seconds, roof_.bound));
    else if (std::optional<MeasuredCall> measured; survives(nullptr, [&] { measured.emplace(device_, call); }))
        measure_case(kernels, *measured);
}

// An error of one kernel becomes a row with the message. Ctrl-C and errors of the device end the benchmark.
bool OpsBench::survives(const Kernel* kernel, const std::function<void()>& action) {
    try {
        action();
        return true;
    } catch (const Error& error) {
        if (!is_of_one_kernel(error.kind())) throw;
        if (failures_++ == 0) first_failure_ = error.kind();
        row_of(kernel).set("note", error.what());
        return false;
    }
}

// Empty: measure it. The chosen kernel is skipped only if it would take much too long.
std::string OpsBench::why_skip(const Kernel* kernel) const {
    const auto known = slowness_.find(kernel);
    const bool chosen = kernel == chosen_;
    const double predicted = roof_.seconds * (known != slowness_.end() ? known->second : chosen ? 1 : unknown_slowness);
    if (predicted > (chosen ? options_.longest_case : options_.longest_kernel))
        return format("skipped: about {} s", short_number(predicted));
    return !chosen && seconds_now() > case_end_ ? "skipped: no time left" : "";
}

void OpsBench::measure_case(const std::vector<const Kernel*>& kernels, MeasuredCall& call) {
    std::vector<Timed> timed;
    for (const Kernel* kernel : kernels) {
        throw_if_interrupted();
        if (const std::string why = why_skip(kernel); !why.empty()) {
            row_of(kernel).set("note", why);
            continue;
        }
        Measurement time;
        if (!survives(kernel, [&] { time = measure(call, *kernel); })) continue;
        if (roof_.seconds > 0) slowness_[kernel] = time.median / roof_.seconds;
        timed.push_back({kernel, time, &add_row(kernel, time)});
    }
    flag_choice(timed);
}

// At least one sample; fewer than `repeats` if the kernel is too slow.
Measurement OpsBench::measure(MeasuredCall& call, const Kernel& kernel) const {
    const Measurement first = call.measure(kernel, {.seconds = 0, .min_samples = 1, .max_samples = 1});
    if (first.median > options_.patience) return first;
    const double fit = options_.patience / std::max(first.median, 1e-9);
    const auto min_samples = static_cast<std::size_t>(std::min(fit, static_cast<double>(options_.repeats)));
    return call.measure(kernel, {.seconds = options_.seconds,
                                 .min_samples = min_samples,
                                 .max_samples = std::max<std::size_t>(options_.repeats, 100)});
}

ReportRow& OpsBench::add_row(const Kernel* kernel, const Measurement& time) {
    const Cost cost = case_->cost();
    largest_share_ = std::max(largest_share_, 100 * roof_.seconds / time.median);
    const double spread = time.samples.size() < min_samples_for_spread ? std::nan("") : 1e6 * time.deviation;
    return row_of(kernel)
        .set("time_us", Spread{1e6 * time.median, spread})
        .set("gflops", 1e-9 * cost.flops / time.median)
        .set("gb_per_s", 1e-9 * cost.bytes() / time.median)
        .set("roof_percent", 100 * roof_.seconds / time.median)
        .set("bound", roof_.bound)
        .set("note", "")
        .set("flops", cost.flops, ShowIn::data_only)
        .set("bytes", cost.bytes(), ShowIn::data_only)
        .set("roof", roof_.roof, ShowIn::data_only)
        .set("samples", time.samples.size(), ShowIn::data_only)
        .set("least_us", 1e6 * time.min, ShowIn::data_only)
        .set("most_us", 1e6 * time.max, ShowIn::data_only)
        .set("dispatches", time.dispatches, ShowIn::data_only)
        .set("device_clock", time.device_clock, ShowIn::data_only);
}

// Adds a note if the chosen kernel is not the fastest.
void OpsBench::flag_choice(std::vector<Timed>& timed) {
    std::erase_if(timed, [](const Timed& t) { return t.time.samples.size() < min_samples_for_spread; });
    const auto taken = std::ranges::find(timed, chosen_, &Timed::kernel);
    const auto best = std::ranges::min_element(timed, {}, [](const Timed& t) { return t.time.median; });
    if (taken == timed.end() || best == taken || !differ(figure_of(taken->time), figure_of(best->time))) return;
    const double factor = taken->time.median / best->time.median;
    best->row->set("note", format("{:.2f} times as fast as the chosen kernel", factor));
    report_.note(format("! {} {}: {} is {:.2f} times as fast as {}, which is chosen", case_->call.op->name, case_->name,
                        best->kernel->name, factor, chosen_->name));
}

// `kernel`: null for the whole case.
ReportRow& OpsBench::row_of(const Kernel* kernel) {
    return report_.row()
        .set("op", case_->call.op->name)
        .set("case", case_->name)
        .set("types", types_text(case_->call))
        .set("operands", operands_text(case_->call), ShowIn::data_only)
        .set("kernel", kernel == nullptr ? "" : kernel->name)
        .set("chosen", kernel != nullptr && kernel == chosen_ ? "*" : "");
}

}  // namespace vantage::internal
