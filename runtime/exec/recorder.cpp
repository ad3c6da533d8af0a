#include "runtime/exec/recorder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "runtime/base/at.h"
#include "runtime/base/clock.h"
#include "runtime/base/format.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/trace_span.h"
#include "runtime/gpu/pipelines.h"
#include "runtime/gpu/queue.h"

namespace vantage::internal {

namespace {

// Submissions are cut between recordings. One is short enough for 100 ms, and they are few enough to be cheap.
constexpr std::size_t dispatches_per_recording = 24;

// Work per second that even a slow device manages; the first cut is made by it. Watchdogs end what lasts some seconds.
// A processor of a GPU, with 64 lanes or more, is taken to reach about 1 % of what it can.
constexpr double slow_gpu = 5e9, slow_cpu = 5e8, slow_processor = 2e9;

// The longest axis along which a grid is cut: x only where y is 1, since flat grids count workgroups by the width of x.
std::size_t cut_axis(const std::array<std::uint32_t, 3>& groups) {
    const std::size_t other = groups[1] == 1 ? 0 : 1;
    return groups[2] > groups[other] ? 2 : other;
}

// Part `part` of `parts` of a grid: first workgroup and number of workgroups.
std::pair<std::array<std::uint32_t, 3>, std::array<std::uint32_t, 3>> part_of(std::array<std::uint32_t, 3> groups,
                                                                              std::uint32_t part, std::uint32_t parts) {
    const std::size_t axis = cut_axis(groups);
    const auto edge = [&](std::uint32_t p) { return u32(std::uint64_t{groups[axis]} * p / parts); };
    std::array<std::uint32_t, 3> base{0, 0, 0};
    base[axis] = edge(part);
    groups[axis] = edge(part + 1) - edge(part);
    return {base, groups};
}

gpu::PipelineKey key_of(const Launch& launch) {
    return {.module = launch.shader, .spec = launch.spec, .subgroup_size = launch.subgroup_size};
}

}  // namespace

Recorder::Recorder(const Graph& graph, const Schedule& schedule, const PlanMemory& memory, gpu::DeviceState& device,
                   const CompileOptions& options)
    : graph_(graph),
      schedule_(schedule),
      memory_(memory),
      device_(device),
      profile_(options.profile),
      submission_seconds_(std::max(options.submission_seconds, 1e-6)) {
    prepare();
    std::vector<int> launches(graph.nodes().size());
    for (const Dispatch& dispatch : schedule.dispatches)
        if (dispatch.node >= 0) ++at(launches, dispatch.node);
    for (const Dispatch& dispatch : schedule.dispatches)
        work_.push_back(work_of(dispatch, dispatch.node >= 0 ? at(launches, dispatch.node) : 1));
    const Caps& caps = device.caps();
    seconds_per_work_ = 1 / (caps.is_cpu() ? slow_cpu : std::max(slow_gpu, caps.processors * slow_processor));
}

void Recorder::prepare() const {
    std::vector<gpu::PipelineKey> keys;
    for (const Dispatch& dispatch : schedule_.dispatches) keys.push_back(key_of(dispatch.launch));
    std::ranges::sort(keys);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    gpu::prepare_pipelines(device_, keys);
}

// The share of a node's cost that falls on one of its `launches`. A byte weighs as much as four operations: the balance
// of most devices lies within a small factor of that, and a cut need not be exact.
Recorder::Work Recorder::work_of(const Dispatch& dispatch, int launches) const {
    constexpr double min_work = 1e4;  // a launch is never free
    if (dispatch.node < 0) return {.fixed = min_work};
    const Node& node = at(graph_.nodes(), dispatch.node);
    if (node.op->cost == nullptr) return {.fixed = min_work};
    const Cost cost = node.op->cost(call_of(graph_, node));
    const double share = std::max(cost.flops, 4 * (cost.bytes_read + cost.bytes_written)) / launches;
    return cost.grows_with_cache ? Work{min_work, share} : Work{min_work + share, 0};
}

Recorder::~Recorder() { gpu::wait_idle(device_); }

// Addresses of a dispatch's operands. An absent one is marked by bit 0, on the address of the largest operand: Mesa
// 26's lavapipe executes loads from uniform addresses in branches that no invocation takes, and has to find memory
// there.
std::vector<std::uint64_t> Recorder::addresses_of(const Dispatch& dispatch) const {
    const auto largest = std::ranges::max_element(dispatch.uses, {}, &MemoryUse::bytes);
    std::vector<std::uint64_t> addresses;
    for (std::size_t i = 0; i < dispatch.launch.operands.size(); ++i)
        addresses.push_back(dispatch.uses[i].bytes > 0 ? memory_.address_of(dispatch.uses[i])
                                                       : memory_.address_of(*largest) | 1);
    return addresses;
}

void Recorder::add(gpu::Recording& recording, const Dispatch& dispatch, std::uint32_t part, std::uint32_t parts) const {
    std::vector<std::byte> push = dispatch.launch.params;
    const std::vector<std::uint64_t> addresses = addresses_of(dispatch);
    std::memcpy(push.data(), addresses.data(), addresses.size() * sizeof(std::uint64_t));
    const VkPipeline pipeline = gpu::pipeline(device_, key_of(dispatch.launch));
    const auto [base, groups] = part_of(dispatch.launch.groups, part, parts);
    if (dispatch.indirect)
        recording.dispatch_indirect(pipeline, push, memory_.arena, dispatch.uses.back().offset, dispatch.label);
    else
        recording.dispatch_piece(pipeline, push, base, groups, dispatch.label);
}

gpu::Recording Recorder::record(std::size_t first, std::size_t last, std::uint32_t part, std::uint32_t parts,
                                const std::string& name, bool for_host) const {
    gpu::Recording recording(device_, name, profile_ ? u32(last - first) : 0);
    for (std::size_t i = first; i < last; ++i) {
        const Dispatch& dispatch = schedule_.dispatches[i];
        if (dispatch.barrier_before && i != first) recording.barrier();
        add(recording, dispatch, part, parts);
    }
    recording.end(for_host);
    return recording;
}

gpu::Recording Recorder::repeated(std::uint32_t times) const {
    const auto& all = schedule_.dispatches;
    gpu::Recording recording(device_, "repeated", times * u32(all.size()));
    for (std::uint32_t time = 0; time < times; ++time)
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].barrier_before || (i == 0 && time > 0)) recording.barrier();
            add(recording, all[i], 0, 1);
        }
    recording.end();
    return recording;
}

Recorder::Recorded Recorder::recorded(std::size_t first, std::size_t last, std::uint32_t part,
                                      std::uint32_t parts) const {
    const int segment = schedule_.dispatches[first].segment;
    const std::string name = at(graph_.segments(), segment) + format(" {}", first);
    Work work;
    for (std::size_t i = first; i < last; ++i)
        work.fixed += work_[i].fixed / parts, work.growing += work_[i].growing / parts;
    const auto& all = schedule_.dispatches;
    const bool for_host = last == all.size() || all[last].segment != segment;  // the host reads after a segment
    return {first, last, part, parts, segment, work, record(first, last, part, parts, name, for_host)};
}

// Cuts the schedule into recordings that are not predicted to last longer than a submission may, until the cache holds
// twice as much as now. The first `kept` recordings stay; what follows begins with dispatch `begin`, or with `parts`
// above 0 within it, at part `part` of so many.
void Recorder::record_from(std::size_t kept, std::size_t begin, std::uint32_t part, std::uint32_t parts,
                           double filled) {
    const TraceSpan span("record");
    cut_for_ = std::min(1.0, 2 * filled);
    std::vector<Recorded> cut;  // takes the place of the old ones only when all of them stand
    const auto& all = schedule_.dispatches;
    std::size_t first = begin;
    for (; part < parts; ++part) cut.push_back(recorded(begin, begin + 1, part, parts));
    if (parts > 0) ++first;
    while (first < all.size()) {
        if (const double seconds = predicted_seconds(first); seconds > submission_seconds_ && !all[first].indirect) {
            const std::array<std::uint32_t, 3>& groups = all[first].launch.groups;
            const double wanted = std::min(std::ceil(seconds / submission_seconds_), 0x1p31);
            // a power of two, so that four parts can become one
            const std::uint32_t each =
                std::min(std::bit_floor(groups[cut_axis(groups)]), std::bit_ceil(static_cast<std::uint32_t>(wanted)));
            for (std::uint32_t one = 0; one < each; ++one) cut.push_back(recorded(first, first + 1, one, each));
            ++first;
            continue;
        }
        std::size_t last = first + 1;
        for (double seconds = predicted_seconds(first);
             last < all.size() && last - first < dispatches_per_recording && all[last].segment == all[first].segment;
             ++last)
            if ((seconds += predicted_seconds(last)) > submission_seconds_) break;
        cut.push_back(recorded(first, last));
        first = last;
    }
    const auto end = recordings_.begin() + static_cast<std::ptrdiff_t>(kept);
    cut.insert(cut.begin(), std::move_iterator(recordings_.begin()), std::move_iterator(end));
    recordings_ = std::move(cut);
    run_.reserve(recordings_.size());
}

// Whether the cache has grown so much that a recording now takes twice as long as it may. Looked at whenever it has
// doubled.
bool Recorder::outgrown(double filled) {
    if (filled <= cut_for_) return false;
    cut_for_ = std::min(1.0, 2 * filled);
    return std::ranges::any_of(recordings_, [&](const Recorded& one) {
        return seconds_per_work_ * one.work.at(filled) > 2 * submission_seconds_;
    });
}

std::uint64_t Recorder::submit(std::span<const int> segments, double filled) {
    if (recordings_.empty() || outgrown(filled)) record_all(filled);
    memory_.require_full();
    return measured_ ? submit_as_measured(segments, filled) : submit_first(segments, filled);
}

// The recordings of these segments, in run_. Returns their work.
double Recorder::choose(std::span<const int> segments, double filled) {
    run_.clear();
    double work = 0;
    for (const int segment : segments)
        for (const Recorded& one : recordings_)
            if (one.segment == segment) {
                run_.push_back(&one.recording);
                work += one.work.at(filled);
            }
    return work;
}

// The first run submits one recording at a time and measures. Where the device is faster than the guess, what is left
// is cut again: into pieces of four times the work, not more, as kernels to come may be slower than those before.
std::uint64_t Recorder::submit_first(std::span<const int> segments, double filled) {
    const double guess = seconds_per_work_, begin = seconds_now();
    double work = 0, seconds = 0, now = guess;
    std::uint64_t last = gpu::reached(device_);
    for (const int segment : segments)
        for (std::size_t i = 0; i < recordings_.size(); ++i) {
            if (recordings_[i].segment != segment) continue;
            throw_if_interrupted();  // a short wait does not ask
            const gpu::Recording* one[] = {&recordings_[i].recording};
            const double submitted = seconds_now();
            gpu::wait(device_, last = gpu::submit(device_, one));
            seconds += seconds_now() - submitted, work += recordings_[i].work.at(filled);
            now = seconds / std::max(work, 1.0);
            const auto [part, parts] = std::pair(recordings_[i].part + 1, recordings_[i].parts);
            const bool whole = part == parts, joins = part % 4 == 0 && parts % 4 == 0;
            if (4 * now < seconds_per_work_ && (whole || joins) && i + 1 < recordings_.size()) {
                seconds_per_work_ /= 4;
                if (whole)
                    record_from(i + 1, recordings_[i].last, 0, 0, filled);
                else
                    record_from(i + 1, recordings_[i].first, part / 4, parts / 4, filled);
            }
        }
    if (work == 0) return last;
    choose(segments, filled);
    if (profile_) collect_timings(begin, filled);
    measured_ = true;
    const bool too_long = now > seconds_per_work_,
               too_fine = recordings_.size() > 2 * (1 + schedule_.dispatches.size() / dispatches_per_recording);
    seconds_per_work_ = now;
    if (too_long || (4 * now < guess && too_fine)) record_all(filled);
    return last;
}

// A run of several submissions is waited for and measured again. So the host is at most two submissions ahead of the
// device, and the next division is better.
std::uint64_t Recorder::submit_as_measured(std::span<const int> segments, double filled) {
    const double work = choose(segments, filled);
    if (run_.empty()) return gpu::reached(device_);
    const double recordings_each = submission_seconds_ * static_cast<double>(run_.size()) / (seconds_per_work_ * work);
    const auto each = static_cast<std::size_t>(std::clamp(recordings_each, 1.0, static_cast<double>(run_.size())));
    const double begin = seconds_now();
    std::uint64_t before = 0, last = 0;
    for (std::size_t first = 0; first < run_.size(); first += each) {
        if (before > 0) {
            gpu::wait(device_, before);
            throw_if_interrupted();
        }
        before = last;
        last = gpu::submit(device_, std::span(run_).subspan(first, std::min(each, run_.size() - first)));
    }
    if (run_.size() > each || profile_) {
        gpu::wait(device_, last);
        if (profile_) collect_timings(begin, filled);
        const double now = (seconds_now() - begin) / std::max(work, 1.0);
        // a driver may compile kernels in the first run: what comes later counts more
        seconds_per_work_ = std::min(now, 0.5 * (seconds_per_work_ + now));
    }
    return last;
}

std::uint64_t Recorder::submit_after(std::span<const VkSemaphoreSubmitInfo> waits) {
    if (recordings_.empty()) record_all(cut_for_);
    memory_.require_full();
    run_.clear();
    for (const Recorded& one : recordings_) run_.push_back(&one.recording);
    const std::size_t each = std::max<std::size_t>(1, measured_ ? run_.size() : 1);  // as cut for the time budget
    std::uint64_t last = gpu::submit(device_, std::span(run_).first(std::min(each, run_.size())), waits);
    for (std::size_t first = each; first < run_.size(); first += each)
        last = gpu::submit(device_, std::span(run_).subspan(first, std::min(each, run_.size() - first)));
    return last;
}

// The scope, else the first weight that the node reads, else the output that it computes.
std::string Recorder::layer_of(const Node& node) const {
    if (!node.scope.empty()) return node.scope.substr(0, node.scope.size() - 1);
    for (const int id : node.inputs)
        if (id >= 0)
            if (const Value& value = graph_.value(graph_.storage(id)); value.kind == ValueKind::weight)
                return value.name;
    for (const auto& [name, id] : graph_.outputs())
        if (std::ranges::count(node.outputs, id) != 0) return name;
    return {};
}

// What a dispatch is, and its share of what its node costs.
DispatchTiming Recorder::described(std::size_t dispatch, std::uint32_t parts, double filled) const {
    const int index = schedule_.dispatches[dispatch].node;
    if (index < 0) return {};
    const Node& node = at(graph_.nodes(), index);
    DispatchTiming timing{.op = node.op->name, .kernel = at(schedule_.kernels, index)->name};
    timing.layer = layer_of(node);
    if (node.op->cost == nullptr) return timing;
    const Cost cost = node.op->cost(call_of(graph_, node));
    const auto launches = static_cast<double>(std::ranges::count(schedule_.dispatches, index, &Dispatch::node));
    const double share = (cost.grows_with_cache ? filled : 1) / (launches * parts);
    timing.flops = share * cost.flops;
    timing.bytes_read = share * cost.bytes_read, timing.bytes_written = share * cost.bytes_written;
    return timing;
}

void Recorder::collect_timings(double submitted, double filled) {
    timings_.clear();
    for (const gpu::Recording* recording : run_) {
        const Recorded& from =
            *std::ranges::find_if(recordings_, [&](const Recorded& one) { return &one.recording == recording; });
        std::size_t dispatch = from.first;
        for (const gpu::Recording::Timing& t : recording->timings()) {
            DispatchTiming& timing = timings_.emplace_back(described(dispatch++, from.parts, filled));
            timing.part = from.part, timing.parts = from.parts;
            timing.label = t.label, timing.begin_ns = t.begin_ns, timing.end_ns = t.end_ns;
            timing.submitted_seconds = submitted;
        }
    }
}

void Recorder::wait(std::uint64_t ticket) { gpu::wait(device_, ticket); }

void Recorder::run_node(int node) {
    memory_.require_full();
    const auto& all = schedule_.dispatches;
    for (std::size_t first = 0; first < all.size(); ++first) {
        if (all[first].node != node) continue;
        std::size_t begin = first, end = first + 1;
        while (begin > 0 && all[begin - 1].node == -1) --begin;  // its grid
        while (end < all.size() && all[end].node == node) ++end;
        const gpu::Recording recording = record(begin, end, 0, 1, name_of(graph_, at(graph_.nodes(), node)), true);
        const gpu::Recording* one[] = {&recording};
        gpu::wait(device_, gpu::submit(device_, one));
        return;
    }
}

}  // namespace vantage::internal
