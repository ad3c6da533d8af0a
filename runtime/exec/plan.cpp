#include "vantage/plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/trace_span.h"
#include "runtime/exec/bindings.h"
#include "runtime/exec/guard.h"
#include "runtime/exec/recorder.h"
#include "runtime/exec/tuning_files.h"
#include "runtime/exec/upload_weight.h"
#include "runtime/gpu/transfer.h"
#include "runtime/graph/compare.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/graph_data.h"
#include "runtime/graph/merge_projections.h"

namespace vantage {

namespace {

template <class T>
HostTensor host_tensor(const TensorType& type, std::span<const T> values) {
    HostTensor tensor(type);
    std::transform(values.begin(), values.end(), tensor.data.begin(), [](T v) { return static_cast<double>(v); });
    return tensor;
}

}  // namespace

struct Plan::State {
    Graph graph;
    Device device;
    CompileOptions options;
    std::vector<std::string> fused;
    Schedule schedule;
    PlanMemory memory;
    std::unique_ptr<Recorder> recorder;

    State(Graph g, Device d, const CompileOptions& o) : graph(detail::GraphAccess::unshared(std::move(g))), device(std::move(d)), options(o) {}

    const Value& named(const std::string& name, int& id) const {
        if (const auto found = graph.outputs().find(name); found != graph.outputs().end()) {
            id = found->second;
            return graph.value(id);
        }
        for (std::size_t i = 0; i < graph.values().size(); ++i)
            if (graph.values()[i].name == name && graph.values()[i].kind != ValueKind::node) {
                id = static_cast<int>(i);
                return graph.values()[i];
            }
        throw Error(ErrorKind::usage, "plan: nothing is called " + name);
    }

    template <class T>
    void write(const std::string& name, std::span<const T> values) {
        int id = 0;
        TensorType type = named(name, id).type;
        if (static_cast<std::int64_t>(values.size()) != type.shape.elements())
            throw Error(ErrorKind::usage, format("plan: %s is %s, but %zu values are given", name.c_str(),
                                                 type.text().c_str(), values.size()));
        upload(id, narrow(host_tensor(type, values)));
    }

    void upload(int id, std::span<const std::byte> bytes) {
        const Value& value = graph.value(id);
        const auto [buffer, offset] = memory.place_of(graph, schedule, id);
        upload_weight(device.state(), buffer, offset, value.type, value.type.dtype, value.transposed, bytes);
    }

    std::vector<std::byte> download(int id, std::uint64_t bytes, std::uint64_t from = 0) const {
        memory.require_full();
        const auto [buffer, offset] = memory.place_of(graph, schedule, id);
        std::vector<std::byte> data(bytes);
        gpu::download(device.state(), buffer, offset + from, data);
        return data;
    }
    HostTensor host(int id) const { return widen(graph.value(id).type, download(id, graph.value(id).type.bytes())); }

    std::vector<Divergence> check_node(std::size_t index);
};

Plan::Plan(Graph graph, const Device& device, const CompileOptions& options, std::shared_ptr<const Bindings> bindings)
    : state_(std::make_unique<State>(std::move(graph), device, options)) {
    const TraceSpan span("compile plan");
    State& s = *state_;
    s.options.guard |= environment_flag("VANTAGE_GUARD");
    const bool fuses = options.fuse && !environment_flag("VANTAGE_DISABLE_FUSION");
    if (fuses)
        s.fused = fuse(s.graph);
    else
        transpose_weights(s.graph);
    if (options.f16_operands) allow_f16_operands(s.graph);
    if (options.int8_operands) allow_int8_operands(s.graph);
    const TuningTable& tuning = tuning_of(device.caps());
    ScheduleOptions how{.tuning = &tuning, .keep_all = options.keep_all, .red_zone = s.options.guard ? red_zone : 0};
    if (!options.kernel.empty())
        how.choose = [&](const OpCall& call, const Caps& caps) -> const Kernel* {
            for (const Kernel& kernel : call.op->kernels)
                if (options.kernel == kernel.name && eligible(kernel, call, caps)) return &kernel;
            return choose_kernel(call, caps, &tuning);
        };
    if (fuses) {
        const auto tuned = [&](const OpCall& call, const Caps& caps) { return choose_kernel(call, caps, &tuning); };
        const std::vector<std::string> merged =
            merge_projections(s.graph, device.caps(), how.choose ? how.choose : KernelChoice(tuned));
        s.fused.insert(s.fused.end(), merged.begin(), merged.end());
    }
    s.schedule = make_schedule(s.graph, device.caps(), how);
    if (s.options.guard)
        if (const std::vector<std::string> hazards = find_hazards(s.graph, s.schedule); !hazards.empty())
            throw Error(ErrorKind::failure, "plan: " + hazards.front());
    s.memory = PlanMemory(s.graph, s.schedule, device.state(), bindings.get(), s.options.guard);
    s.recorder = std::make_unique<Recorder>(s.graph, s.schedule, s.memory, device.state(), options);
}

Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;

void Plan::write(const std::string& name, std::span<const float> values) { state_->write(name, values); }
void Plan::write(const std::string& name, std::span<const std::int32_t> values) { state_->write(name, values); }
void Plan::write_bytes(const std::string& name, std::span<const std::byte> bytes) {
    int id = 0;
    if (const Value& value = state_->named(name, id); value.type.bytes() != bytes.size())
        throw Error(ErrorKind::usage, format("plan: %s is %s, but %zu bytes are given", name.c_str(),
                                             value.type.text().c_str(), bytes.size()));
    state_->upload(id, bytes);
}

std::vector<std::byte> Plan::read_bytes(const std::string& name) const {
    int id = 0;
    const Value& value = state_->named(name, id);
    return state_->download(id, value.type.bytes());
}

std::vector<float> Plan::read(const std::string& name) const {
    int id = 0;
    const HostTensor tensor = (state_->named(name, id), state_->host(id));
    return {tensor.data.begin(), tensor.data.end()};
}

std::vector<float> Plan::read_rows(const std::string& name, std::int64_t rows, std::int64_t first) const {
    int id = 0;
    TensorType type = state_->named(name, id).type, before = type;
    before.shape[0] = std::clamp<std::int64_t>(first, 0, type.shape[0]);
    type.shape[0] = std::clamp<std::int64_t>(rows, 0, type.shape[0] - before.shape[0]);
    const HostTensor tensor = widen(type, state_->download(id, type.bytes(), before.bytes()));
    return {tensor.data.begin(), tensor.data.end()};
}

void Plan::run() {
    std::vector<int> all(state_->graph.segments().size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    wait(submit(all));
}

std::uint64_t Plan::submit(std::span<const int> segments, double filled) {
    State& s = *state_;
    if (!s.options.guard) return s.recorder->submit(segments, filled);
    if (s.memory.arena) gpu::fill(s.device.state(), s.memory.arena, 0, s.schedule.arena_bytes, poison);
    const std::uint64_t ticket = s.recorder->submit(segments, filled);
    wait(ticket);
    check_red_zones(s.graph, s.schedule, s.memory, s.device.state());
    return ticket;
}
void Plan::wait(std::uint64_t ticket) { state_->recorder->wait(ticket); }

std::vector<Divergence> Plan::State::check_node(std::size_t index) {
    const Node& node = graph.nodes()[index];
    const OpCall call = call_of(graph, node);
    std::vector<HostTensor> inputs, want;
    for (int id : node.inputs) inputs.push_back(id >= 0 ? host(id) : HostTensor());
    for (int id : node.outputs)
        want.push_back(graph.value(id).alias >= 0 ? host(id) : HostTensor(graph.value(id).type));
    recorder->run_node(static_cast<int>(index));
    node.op->reference(call, inputs, want);
    std::vector<Divergence> found;
    for (std::size_t i = 0; i < want.size(); ++i) {
        const Comparison c = compare(name_of(graph, node) + (want.size() > 1 ? format(".%zu", i) : ""),
                                     host(node.outputs[i]), want[i], node.op->tolerance, node.attrs);
        if (!c.passed) found.push_back({name_of(graph, node), schedule.kernels[index]->name, c.message});
    }
    return found;
}

std::vector<Divergence> Plan::check(std::size_t max_count) {
    std::vector<Divergence> all;
    int before = -1;
    for (const Dispatch& dispatch : state_->schedule.dispatches) {  // in its order: memory is shared by it
        if (all.size() >= max_count) break;
        if (dispatch.node < 0 || dispatch.node == before) continue;
        before = dispatch.node;
        const std::vector<Divergence> found = state_->check_node(static_cast<std::size_t>(before));
        all.insert(all.end(), found.begin(), found.end());
    }
    return all;
}

const std::vector<DispatchTiming>& Plan::timings() const { return state_->recorder->timings(); }
const Graph& Plan::graph() const { return state_->graph; }
const Schedule& Plan::schedule() const { return state_->schedule; }
const std::vector<std::string>& Plan::fused() const { return state_->fused; }
const Device& Plan::device() const { return state_->device; }
std::uint64_t Plan::arena_bytes() const { return state_->schedule.arena_bytes; }

}  // namespace vantage
