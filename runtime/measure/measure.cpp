#include "runtime/measure/measure.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "runtime/base/clock.h"
#include "runtime/base/format.h"
#include "runtime/exec/recorder.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/transfer.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/measure/operands.h"

namespace vantage::internal {

namespace {

constexpr double submission_seconds =
    0.05;                               // seconds of a submission with many runs, so that other programs get their turn
constexpr std::uint32_t max_runs = 32;  // per submission
constexpr std::size_t stretches = 16;   // ranges that are read of a long result

// Writes `block` and doubles the written part until the buffer is full.
void fill_with(gpu::DeviceState& device, const gpu::Buffer& buffer, std::uint64_t bytes,
               const std::vector<std::byte>& block) {
    std::uint64_t done = std::min<std::uint64_t>(bytes, block.size());
    gpu::upload(device, buffer, 0, std::span(block).first(done));
    if (done == bytes) return;
    gpu::Recording recording(device, "fill operand");
    while (done < bytes) {
        const std::uint64_t more = std::min(done, bytes - done);
        recording.copy(buffer, 0, buffer, done, more);
        recording.barrier();
        done += more;
    }
    recording.end();
    const gpu::Recording* one[] = {&recording};
    gpu::wait(device, gpu::submit(device, one));
}

// Quantile of sorted values, with linear interpolation.
double quantile(const std::vector<double>& sorted, double share) {
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// A kernel that is ready to run: schedule, memory and pipelines.
struct Prepared {
    Schedule schedule;
    PlanMemory memory;
    std::unique_ptr<Recorder> recorder;
    std::optional<gpu::Recording>
        repeated;  // some runs in a row; none where one takes so long that it goes out by itself
    std::uint32_t runs = 1;
    bool ran = false, warm = false;
};

}  // namespace

Measurement measurement_of(std::vector<double> samples) {
    Measurement m{.samples = samples};
    std::sort(samples.begin(), samples.end());
    m.median = quantile(samples, 0.5);
    m.min = samples.front(), m.max = samples.back();
    m.lower_quartile = quantile(samples, 0.25), m.upper_quartile = quantile(samples, 0.75);
    for (double& sample : samples) sample = std::abs(sample - m.median);
    std::sort(samples.begin(), samples.end());
    m.deviation = quantile(samples, 0.5);
    return m;
}

struct MeasuredCall::State {
    Device device;
    OpCall call;
    Graph graph;
    Bindings bindings;
    std::vector<std::vector<std::byte>> blocks;  // by operand
    std::uint64_t bytes = 0;
    std::map<const Kernel*, std::unique_ptr<Prepared>> kernels;

    State(const Device& d, OpCall c) : device(d), call(std::move(c)) {}

    void require_memory(std::uint64_t wanted) const {
        if (const std::uint64_t left = device.memory_available(); wanted > left)
            throw Error(ErrorKind::out_of_memory, format("measuring {} needs {} of device memory, but {} are available",
                                                         call.op->name, bytes_text(wanted), bytes_text(left)));
    }
    void fill(std::size_t i) {
        fill_with(device.state(), bindings.buffers.at(call.op->operands[i]), call.inputs[i]->bytes(), blocks[i]);
    }
    bool clocked() const { return device.state().queue.timestamp_bits > 0; }

    Prepared& prepared(const Kernel& kernel);
    void run(Prepared& p);
    std::vector<double> warm_up(Prepared& p, double hopeless);
    std::vector<double> take(Prepared& p);
};

MeasuredCall::MeasuredCall(const Device& device, OpCall call, std::int64_t keys)
    : state_(std::make_unique<State>(device, std::move(call))) {
    State& s = *state_;
    s.call.inputs.resize(s.call.op->operands.size());
    if (s.call.outputs.empty()) s.call.outputs = s.call.op->infer(s.call);
    for (const auto& input : s.call.inputs) s.bytes += input ? input->bytes() : 0;
    for (std::size_t i = 0; i < s.call.outputs.size(); ++i)
        if (s.call.op->alias_of(i) < 0) s.bytes += s.call.outputs[i].bytes();
    s.require_memory(s.bytes);
    s.graph = graph_of_call(s.call);
    s.blocks.resize(s.call.inputs.size());
    for (std::size_t i = 0; i < s.call.inputs.size(); ++i) {
        if (!s.call.inputs[i]) continue;
        const char* name = s.call.op->operands[i];
        s.bindings.buffers[name] = gpu::allocate(
            s.device.state(), std::max<std::uint64_t>(s.call.inputs[i]->bytes(), 4), gpu::MemoryKind::device, name);
        s.blocks[i] = default_operand(s.call, static_cast<int>(i), keys);
        s.fill(i);
    }
}

MeasuredCall::~MeasuredCall() = default;
MeasuredCall::MeasuredCall(MeasuredCall&&) noexcept = default;

const OpCall& MeasuredCall::call() const { return state_->call; }
std::uint64_t MeasuredCall::bytes() const { return state_->bytes; }

bool MeasuredCall::fits(const Kernel& kernel) const { return eligible(kernel, state_->call, state_->device.caps()); }

Prepared& MeasuredCall::State::prepared(const Kernel& kernel) {
    std::unique_ptr<Prepared>& made = kernels[&kernel];
    if (made) return *made;
    auto p = std::make_unique<Prepared>();
    p->schedule = make_schedule(graph, device.caps(), {.choose = [&](const OpCall&, const Caps&) { return &kernel; }});
    require_memory(p->schedule.arena_bytes);
    p->memory = PlanMemory(graph, p->schedule, device.state(), &bindings, false);
    p->recorder =
        std::make_unique<Recorder>(graph, p->schedule, p->memory, device.state(), CompileOptions{.profile = true});
    made = std::move(p);
    return *made;
}

// The first run compiles and is slow. The second decides how many runs fit one submission, and is a sample if there are
// no more.
std::vector<double> MeasuredCall::State::warm_up(Prepared& p, double hopeless) {
    if (!p.ran) run(p);
    const std::vector<double> first = take(p);
    p.warm = true;
    if (hopeless > 0 && first[0] > hopeless) return first;
    if (first[0] > submission_seconds) return {};
    p.runs = static_cast<std::uint32_t>(
        std::clamp(submission_seconds / std::max(first[0], 1e-6), 1.0, static_cast<double>(max_runs)));
    p.repeated = p.recorder->repeated(p.runs);
    take(p);  // until clocks have risen under load
    return {};
}

void MeasuredCall::State::run(Prepared& p) {
    constexpr int main_segment[] = {0};
    p.recorder->wait(p.recorder->submit(main_segment, 1));
    p.ran = true;
}

// Takes the samples of one submission.
std::vector<double> MeasuredCall::State::take(Prepared& p) {
    const double begin = seconds_now();
    std::vector<DispatchTiming> timings;
    if (p.repeated) {
        const gpu::Recording* one[] = {&*p.repeated};
        gpu::wait(device.state(), gpu::submit(device.state(), one));
        for (const gpu::Recording::Timing& t : p.repeated->timings())
            timings.push_back({t.label, t.begin_ns, t.end_ns});
    } else {
        run(p);
        timings = p.recorder->timings();
    }
    const double host_seconds = seconds_now() - begin;
    if (!clocked() || timings.empty()) return {host_seconds / static_cast<double>(p.runs)};
    std::vector<double> samples(p.runs);
    for (std::size_t i = 0; i < timings.size(); ++i)
        samples[i * p.runs / timings.size()] += 1e-9 * static_cast<double>(timings[i].end_ns - timings[i].begin_ns);
    return samples;
}

Measurement MeasuredCall::measure(const Kernel& kernel, const MeasureOptions& options) {
    State& s = *state_;
    Prepared& p = s.prepared(kernel);
    std::vector<double> samples;
    if (!p.warm) samples = s.warm_up(p, options.hopeless);
    double spent = 0;
    const auto wanted = [&] {
        return samples.size() < options.min_samples ||
               (samples.size() < options.max_samples && spent < options.seconds);
    };
    if (samples.empty())
        while (wanted())
            for (const double sample : s.take(p)) {
                spent += sample;
                samples.push_back(sample);
            }
    Measurement m = measurement_of(std::move(samples));
    m.device_clock = s.clocked();
    m.dispatches = p.schedule.dispatches.size();
    return m;
}

std::vector<HostTensor> MeasuredCall::results(const Kernel& kernel, std::size_t max_elements) {
    State& s = *state_;
    Prepared& p = s.prepared(kernel);
    for (const std::int8_t updated : s.call.op->alias)
        if (updated >= 0 && s.call.has(updated)) s.fill(static_cast<std::size_t>(updated));
    s.run(p);
    std::vector<HostTensor> results;
    for (std::size_t i = 0; i < s.call.outputs.size(); ++i) {
        const TensorType& type = s.call.outputs[i];
        const auto [buffer, offset] =
            p.memory.place_of(s.graph, p.schedule, s.graph.outputs().at(format("result{}", i)));
        const auto elements = static_cast<std::size_t>(type.shape.elements());
        const std::size_t size = info(type.dtype).bytes, pieces = elements > max_elements ? stretches : 1;
        const std::size_t each = elements > max_elements ? max_elements / stretches : elements;
        std::vector<std::byte> bytes(pieces * each * size);
        for (std::size_t piece = 0; piece < pieces;
             ++piece) {  // the first range is at the beginning, the last at the end
            const std::size_t first = pieces > 1 ? (elements - each) * piece / (pieces - 1) : 0;
            gpu::download(s.device.state(), buffer, offset + first * size,
                          std::span(bytes).subspan(piece * each * size, each * size));
        }
        results.push_back(
            widen({pieces > 1 ? Shape{static_cast<std::int64_t>(pieces * each)} : type.shape, type.dtype}, bytes));
    }
    return results;
}

}  // namespace vantage::internal
