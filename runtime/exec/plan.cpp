#include "vantage/plan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/trace_span.h"
#include "runtime/exec/guard.h"
#include "runtime/exec/plan_access.h"
#include "runtime/exec/plan_state.h"
#include "runtime/exec/tuning_files.h"
#include "runtime/gpu/pipelines.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/transfer.h"
#include "runtime/graph/compare.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/graph_data.h"
#include "runtime/graph/merge_projections.h"
#include "vantage/vulkan.h"

namespace vantage {

Plan::State::State(Graph g, const Device& d, const CompileOptions& o)
    : graph(GraphAccess::unshared(std::move(g))), device(d), options(o) {}

void Plan::State::compile(const Bindings* bindings) {
    const TraceSpan span("compile plan");
    options.guard |= environment_flag("VANTAGE_GUARD");
    const bool fuses = options.fuse && !environment_flag("VANTAGE_DISABLE_FUSION");
    if (fuses)
        fused = fuse(graph);
    else
        transpose_weights(graph);
    if (options.f16_operands) allow_f16_operands(graph);
    if (options.int8_operands) allow_int8_operands(graph);
    if (options.stability != Stability::none) keep_stable(graph, options.stability == Stability::rows);
    const TuningTable& tuning = tuning_of(device.caps());
    const KernelChoice choose = [&](const OpCall& call, const Caps& caps) -> const Kernel* {
        for (const Kernel& kernel : call.op->kernels)
            if (options.kernel == kernel.name && eligible(kernel, call, caps)) return &kernel;
        return choose_kernel(call, caps, options.stability == Stability::rows ? nullptr : &tuning);
    };
    if (fuses) {
        const std::vector<std::string> merged = merge_projections(graph, device.caps(), choose);
        fused.insert(fused.end(), merged.begin(), merged.end());
    }
    schedule =
        make_schedule(graph, device.caps(),
                      {.choose = choose, .keep_all = options.keep_all, .red_zone = options.guard ? red_zone : 0});
    if (options.guard)
        if (const std::vector<std::string> hazards = find_hazards(graph, schedule); !hazards.empty())
            throw Error(ErrorKind::failure, "plan: " + hazards.front());
    memory = PlanMemory(graph, schedule, device.state(), bindings, options.guard);
    recorder = std::make_unique<Recorder>(graph, schedule, memory, device.state(), options);
    find_unwritten(bindings);
    find_reloadable();
}

void Plan::State::find_reloadable() {
    for (const Dispatch& dispatch : schedule.dispatches) {
        if (dispatch.node < 0) continue;
        KernelState* kernel = at(graph.nodes(), dispatch.node).op->custom;
        if (kernel == nullptr || kernel->path.empty()) continue;
        auto known = std::ranges::find(reloadable, kernel, &Reloadable::kernel);
        if (known == reloadable.end()) {
            const SpirvModule* used = find_added_spirv(dispatch.launch.shader);
            known = reloadable.insert(known, {kernel, {}, used, used});
        }
        known->segments.insert(dispatch.segment);
    }
}

void Plan::State::use_module(Reloadable& kernel, const SpirvModule& module) {
    kernel.used = &module;
    for (Dispatch& dispatch : schedule.dispatches)
        if (dispatch.node >= 0 && at(graph.nodes(), dispatch.node).op == &kernel.kernel->op)
            dispatch.launch.shader = module.name;
    recorder->forget();
}

void Plan::State::refuse(const Trial& trial, const std::string& reason) {
    refuse_module(*trial.kernel->kernel, *trial.kernel->used);
    use_module(*trial.kernel, *trial.before);
    log_message(LogLevel::warning, trial.kernel->kernel->path + ": " + reason + "; the last good version stays");
}

std::vector<Trial> Plan::State::take_new_versions(std::span<const int> segments) {
    std::vector<Trial> trials;
    try {
        for (Reloadable& one : reloadable) {
            if (std::ranges::none_of(segments, [&](int segment) { return one.segments.contains(segment); })) continue;
            const SpirvModule& newest = newest_module(*one.kernel);
            if (&newest == std::exchange(one.seen, &newest) || &newest == one.used) continue;
            trials.push_back({&one, one.used});
            use_module(one, newest);
            try {
                recorder->prepare();
            } catch (const Error& error) {
                if (is_fatal(error.kind())) throw;
                refuse(trials.back(), error.what());
                trials.pop_back();
            }
        }
    } catch (...) {
        undo(trials);
        throw;
    }
    return trials;
}

void Plan::State::undo(const std::vector<Trial>& trials) {
    for (const Trial& trial : trials) {
        use_module(*trial.kernel, *trial.before);
        trial.kernel->seen = trial.before;
    }
}

std::uint64_t Plan::State::run_trial(std::span<const int> segments, std::vector<Trial> trials) {
    // Runs a node with its new version: what is wrong with its results, or with the reference.
    const auto fault_of = [&](int node) -> std::string {
        try {
            const std::vector<Divergence> found = check_node(node);
            return found.empty() ? "" : found.front().message;
        } catch (const Error& error) {
            if (is_fatal(error.kind())) throw;
            return error.what();
        }
    };
    const auto trial_of = [&](int node) {
        return std::ranges::find_if(trials, [&](const Trial& trial) {
            const KernelState* kernel = trial.kernel->kernel;
            return kernel->layout.reference && at(graph.nodes(), node).op == &kernel->op;
        });
    };
    try {
        for (const int segment : segments) {
            for (const int node : scheduled_nodes()) {
                if (at(graph.nodes(), node).segment != segment) continue;
                const auto trial = trial_of(node);
                if (trial != trials.end()) {
                    const std::string fault = fault_of(node);
                    if (fault.empty()) continue;
                    refuse(*trial, fault);
                    trials.erase(trial);
                }
                recorder->run_node(node);
            }
        }
    } catch (...) {  // of the run, not of a version: all of them are tried again
        undo(trials);
        throw;
    }
    for (const Trial& trial : trials) accept_module(*trial.kernel->kernel, *trial.kernel->used);
    return gpu::reached(device.state());
}

void Plan::State::find_unwritten(const Bindings* bindings) {
    const auto reads = [&](int id, int segment) {
        const Value& value = graph.value(id);
        if (value.kind != ValueKind::input && value.kind != ValueKind::weight) return;
        if (bindings != nullptr && bindings->buffers.count(value.name) != 0) return;
        unwritten[id].insert(segment);
    };
    for (const Dispatch& dispatch : schedule.dispatches)
        for (const MemoryUse& use : dispatch.uses)
            if (use.buffer >= 0 && use.reads) reads(use.buffer, dispatch.segment);
    for (const auto& [name, id] : graph.outputs())
        for (const int segment : all_segments()) reads(graph.storage(id), segment);
}

void Plan::State::require_written(std::span<const int> segments) const {
    if (unwritten.empty()) return;
    std::vector<std::string> inputs, weights;
    for (const auto& [id, readers] : unwritten) {
        if (std::ranges::none_of(segments, [&](int segment) { return readers.contains(segment); })) continue;
        const Value& value = graph.value(id);
        (value.kind == ValueKind::input ? inputs : weights).push_back(value.name);
    }
    if (inputs.empty() && weights.empty()) return;
    const auto part = [](const char* one, const char* several, const std::vector<std::string>& names) {
        return names.empty() ? std::string() : (names.size() == 1 ? one : several) + (" " + join(names));
    };
    const bool both = !inputs.empty() && !weights.empty(), one = inputs.size() + weights.size() == 1;
    throw usage_error("plan: " + part("input", "inputs", inputs) + (both ? " and " : "") +
                      part("weight", "weights", weights) + (one ? " was" : " were") +
                      " never written (fill(name, 0) if zeros are meant)");
}

Plan::Plan(Graph graph, const Device& device, const CompileOptions& options)
    : Plan(PlanAccess::make(std::move(graph), device, options, {})) {}
Plan::Plan(std::unique_ptr<State> state) : state_(std::move(state)) {}
Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;

Plan PlanAccess::make(Graph graph, const Device& device, const CompileOptions& options,
                      const std::shared_ptr<const Bindings>& bindings) {
    auto state = std::make_unique<Plan::State>(std::move(graph), device, options);
    state->compile(bindings.get());
    return Plan(std::move(state));
}
const Schedule& PlanAccess::schedule(const Plan& plan) { return plan.state().schedule; }
NodeDump PlanAccess::describe(const Plan& plan, int node) { return plan.state().describe(node); }

NodeDump PlanAccess::run_up_to(Plan& plan, int node) {
    Plan::State& s = plan.state();
    s.require_written(s.all_segments());
    for (const int before : s.scheduled_nodes()) {
        if (before == node) return s.run_node(node);
        s.recorder->run_node(before);
    }
    throw usage_error("plan: nothing that runs needs {}", name_of(s.graph, at(s.graph.nodes(), node)));
}

std::vector<NodeDump> PlanAccess::run_keeping(Plan& plan, std::span<const int> nodes) {
    Plan::State& s = plan.state();
    s.require_written(s.all_segments());
    std::vector<NodeDump> kept;
    for (const int node : s.scheduled_nodes())
        if (std::ranges::count(nodes, node) > 0)
            kept.push_back(s.run_node(node));
        else
            s.recorder->run_node(node);
    return kept;
}

void PlanAccess::use_modules(Plan& plan, int node, std::span<const SpirvModule* const> modules) {
    Plan::State& s = plan.state();
    std::size_t launch = 0;
    for (Dispatch& dispatch : s.schedule.dispatches)
        if (dispatch.node == node) dispatch.launch.shader = modules[launch++]->name;
    s.recorder->forget();
}

Plan::State& Plan::state() const {
    if (!state_) throw usage_error("plan: it was moved from");
    return *state_;
}

std::vector<int> Plan::State::all_segments() const {
    std::vector<int> all(graph.segments().size());
    std::iota(all.begin(), all.end(), 0);
    return all;
}

void Plan::run() { wait(submit(state().all_segments())); }

std::uint64_t Plan::State::submit(std::span<const int> segments, double filled) {
    const std::vector<Trial> trials = take_new_versions(segments);
    return trials.empty() ? recorder->submit(segments, filled) : run_trial(segments, trials);
}

std::uint64_t Plan::submit(std::span<const int> segments, double filled) {
    State& s = state();
    s.require_written(segments);
    if (s.options.guard && s.memory.arena)
        gpu::fill(s.device.state(), s.memory.arena, 0, s.schedule.arena_bytes, poison);
    const std::uint64_t ticket = s.submit(segments, filled);
    if (s.options.guard) {
        wait(ticket);
        check_red_zones(s.graph, s.schedule, s.memory, s.device.state());
    }
    s.ran = true;
    return ticket;
}

TimelinePoint Plan::submit(const After& after) {
    State& s = state();
    const std::vector<int> segments = s.all_segments();
    s.require_written(segments);
    std::vector<VkSemaphoreSubmitInfo> waits;
    for (const TimelinePoint& point : after.points) {
        if (point.semaphore == VK_NULL_HANDLE) throw usage_error("plan: a point to wait for has no semaphore");
        auto info = gpu::vk_struct<VkSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO);
        info.semaphore = point.semaphore;
        info.value = point.value;
        info.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        waits.push_back(info);
    }
    s.take_new_versions(segments);  // not compared with their references: that would wait for the run
    const std::uint64_t ticket = s.recorder->submit_after(waits);
    s.ran = true;
    return {s.device.state().queue.timeline, ticket};
}

void Plan::wait(std::uint64_t ticket) { state().recorder->wait(ticket); }

std::vector<int> Plan::State::scheduled_nodes() const {
    std::vector<int> nodes;
    for (const Dispatch& dispatch : schedule.dispatches)
        if (dispatch.node >= 0 && (nodes.empty() || nodes.back() != dispatch.node)) nodes.push_back(dispatch.node);
    return nodes;
}

NodeDump Plan::State::describe(int index) const {
    const Node& node = at(graph.nodes(), index);
    NodeDump dump{.node = name_of(graph, node),
                  .call = call_of(graph, node),
                  .kernel = at(schedule.kernels, index)->name,
                  .device = device.caps(),
                  .build = this_build()};
    for (const Dispatch& dispatch : schedule.dispatches) {
        if (dispatch.node != index) continue;
        const Launch& launch = dispatch.launch;
        const auto addresses = static_cast<std::ptrdiff_t>(launch.operands.size() * sizeof(std::uint64_t));
        const SpirvModule& module = gpu::module_named(launch.shader);
        std::string name = launch.shader;  // "program/scale#3" of modules that were added, which is no file name
        const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
        std::ranges::replace_if(name, std::not_fn(plain), '_');
        dump.modules[name].assign(module.code.begin(), module.code.end());
        dump.launches.push_back({.module = name,
                                 .constants = launch.spec,
                                 .parameters = {launch.params.begin() + addresses, launch.params.end()},
                                 .groups = launch.groups,
                                 .subgroup_size = launch.subgroup_size});
    }
    return dump;
}

void Plan::State::keep_inputs(NodeDump& dump, int index, Kept kept) const {
    const Node& node = at(graph.nodes(), index);
    dump.inputs.resize(node.inputs.size());
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const bool overwritten = std::ranges::count(node.op->alias, static_cast<std::int8_t>(i)) > 0;
        if (node.inputs[i] < 0 || !dump.inputs[i].empty() || (kept == Kept::overwritten && !overwritten)) continue;
        dump.inputs[i] = download(node.inputs[i], graph.value(node.inputs[i]).type.bytes());
    }
}

void Plan::State::keep_results(NodeDump& dump, int index) const {
    for (const int id : at(graph.nodes(), index).outputs)
        dump.results.push_back(download(id, graph.value(id).type.bytes()));
}

NodeDump Plan::State::run_node(int node) {
    NodeDump dump = describe(node);
    keep_inputs(dump, node, Kept::all);
    recorder->run_node(node);
    keep_results(dump, node);
    return dump;
}

std::vector<Divergence> Plan::State::check_node(int index) {
    const auto dump = std::make_shared<NodeDump>(run_node(index));
    const OpCall& call = dump->call;
    const std::vector<HostTensor> got = results_of(*dump), want = run_reference(call, inputs_of(*dump));
    std::vector<Divergence> found;
    for (std::size_t i = 0; i < want.size(); ++i) {
        const Comparison c = compare(dump->node + (want.size() > 1 ? format(".{}", i) : ""), got[i], want[i],
                                     tolerances_of_size(call.op->tolerance, want[i]), call.attrs);
        if (c.passed) continue;
        if (dump->finding.empty()) dump->finding = c.message;
        found.push_back({dump->node, dump->kernel, c.message, dump});
    }
    return found;
}

void Divergence::dump(const std::string& folder) const {
    if (!ran) throw usage_error("a divergence that no plan found has nothing to dump");
    write_dump(*ran, folder);
}

std::vector<Divergence> Plan::check(std::size_t max_count) {
    State& s = state();
    s.require_written(s.all_segments());
    std::vector<Divergence> all;
    for (const int node : s.scheduled_nodes()) {
        if (all.size() >= max_count) {
            s.recorder->run_node(node);
            continue;
        }
        const std::vector<Divergence> found = s.check_node(node);
        all.insert(all.end(), found.begin(), found.end());
    }
    s.ran = true;
    return all;
}

std::optional<Divergence> Plan::State::not_finite(int index) const {
    const Node& node = at(graph.nodes(), index);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const HostTensor result = host(node.outputs[i]);
        const auto wrong = std::ranges::find_if(result.data, [i](double x) {
            return std::isnan(x) || (std::isinf(x) && (x > 0 || i == 0));  // results beside the first may be an lse
        });
        if (wrong == result.data.end()) continue;
        const char* value = std::isnan(*wrong) ? "NaN" : *wrong > 0 ? "infinity" : "-infinity";
        return Divergence{name_of(graph, node), at(schedule.kernels, index)->name,
                          format("{} at element {} of {}", value, wrong - result.data.begin(), result.type.text())};
    }
    return std::nullopt;
}

std::optional<Divergence> Plan::find_not_finite() {
    State& s = state();
    s.require_written(s.all_segments());
    for (const int node : s.scheduled_nodes()) {
        NodeDump dump = s.describe(node);
        s.keep_inputs(dump, node, State::Kept::overwritten);
        s.recorder->run_node(node);
        std::optional<Divergence> found = s.not_finite(node);
        if (!found) continue;
        s.keep_inputs(dump, node, State::Kept::all);
        s.keep_results(dump, node);
        dump.finding = found->message;
        found->ran = std::make_shared<NodeDump>(std::move(dump));
        return found;
    }
    s.ran = true;
    return std::nullopt;
}

std::string internal::first_place(const std::optional<Divergence>& found) {
    if (!found) return {};
    return format(": the first such result is that of node {} (kernel {}), {}", found->node, found->kernel,
                  found->message);
}

const std::vector<DispatchTiming>& Plan::timings() const { return state().recorder->timings(); }
const Graph& Plan::graph() const { return state().graph; }
const std::vector<std::string>& Plan::fused() const { return state().fused; }
const Device& Plan::device() const { return state().device; }
std::uint64_t Plan::arena_bytes() const { return state().schedule.arena_bytes; }

}  // namespace vantage
