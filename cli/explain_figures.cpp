#include "explain_figures.h"

#include <algorithm>
#include <cctype>

#include "runtime/base/log.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/schedule.h"
#include "runtime/models/model_builder.h"

namespace vantage::cli {

namespace {

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// By the names that the architectures give their weights; the first word that is in the name decides.
const char* component_of(const std::string& weight) {
    static constexpr std::pair<const char*, const char*> words[] = {
        {"norm", "norms"},        {"Norm", "norms"},
        {"ln_", "norms"},         {"router", "router"},
        {"moe.gate", "router"},   {"experts", "experts"},
        {"cls.", "head"},         {"classifier", "head"},
        {"pooler", "head"},       {"vocab_", "head"},
        {"lm_head", "head"},      {"embed_out", "head"},
        {"attn", "attention"},    {"attention", "attention"},
        {"mlp", "mlp"},           {"fc1", "mlp"},
        {"fc2", "mlp"},           {"ffn", "mlp"},
        {"intermediate", "mlp"},  {"output.dense", "mlp"},
        {"wpe", "positions"},     {"position", "positions"},
        {"wte", "embedding"},     {"embed", "embedding"},
        {"project_", "embedding"}};
    for (const auto& [word, component] : words)
        if (contains(weight, word)) return component;
    return "other";
}

BuildOptions build_options(const Model& model, std::int64_t rows, std::int64_t context, Precision precision,
                           bool watch = false) {
    return {.rows = rows,
            .context = context,
            .cache = precision == Precision::f32 ? DType::f32 : DType::f16,
            .watch = std::vector<bool>(static_cast<std::size_t>(model.config().layers), watch),
            .all_logits = false,
            .hidden = false};
}

}  // namespace

// ---- parameters and memory -------------------------------------------------------------------------------------------

std::vector<Component> components(const Model& model) {
    std::vector<Component> parts = {{"embedding"}, {"positions"}, {"attention"}, {"mlp"},  {"router"},
                                    {"experts"},   {"norms"},     {"head"},      {"other"}};
    const Graph graph = model.graph(build_options(model, 1, 1, Precision::f16));
    for (const Value& value : graph.values()) {
        if (value.kind != ValueKind::weight) continue;
        Component& part = *std::find_if(parts.begin(), parts.end(),
                                        [&](const Component& c) { return c.name == component_of(value.name); });
        part.parameters += static_cast<std::uint64_t>(value.type.shape.elements());
        part.bytes += value.type.bytes();
    }
    std::erase_if(parts, [](const Component& c) { return c.parameters == 0; });
    return parts;
}

std::map<std::string, std::uint64_t> weight_bytes(const Model& model) {
    std::map<std::string, std::uint64_t> bytes;
    const Graph graph = model.graph(build_options(model, 1, 1, Precision::f16));
    for (const Value& value : graph.values())
        if (value.kind == ValueKind::weight) bytes[name_of(value.type.dtype)] += value.type.bytes();
    return bytes;
}

std::map<std::string, std::uint64_t> state_bytes(const Model& model, std::int64_t context, Precision precision,
                                                 bool watch) {
    std::map<std::string, std::uint64_t> bytes;
    const Graph graph = model.graph(build_options(model, 1, context, precision, watch));
    for (const Value& value : graph.values())
        if (value.kind == ValueKind::state) bytes[value.name.substr(0, value.name.find('.'))] += value.type.bytes();
    return bytes;
}

// ---- work ------------------------------------------------------------------------------------------------------------

Cost Work::total() const {
    Cost sum;
    for (const Part& part : parts) {
        sum.flops += part.cost.flops;
        sum.bytes_read += part.cost.bytes_read;
        sum.bytes_written += part.cost.bytes_written;
    }
    return sum;
}

Work work(const Model& model, std::int64_t position, std::int64_t rows, Precision precision) {
    Graph graph = model.graph(build_options(model, rows, position + rows, precision));
    fuse(graph);
    Work work;
    for (int index : live_nodes(graph)) {
        const Node& node = graph.nodes()[static_cast<std::size_t>(index)];
        auto part = std::find_if(work.parts.begin(), work.parts.end(),
                                 [&](const Work::Part& p) { return p.op == node.op->name; });
        if (part == work.parts.end()) part = work.parts.insert(part, {.op = node.op->name, .calls = 0, .cost = {}});
        const Cost cost = node.op->cost != nullptr ? node.op->cost(call_of(graph, node)) : Cost{};
        ++part->calls;
        part->cost.flops += cost.flops;
        part->cost.bytes_read += cost.bytes_read;
        part->cost.bytes_written += cost.bytes_written;
    }
    return work;
}

// ---- the plan --------------------------------------------------------------------------------------------------------

namespace {

/// "h.3." of "h.3.attn.c_attn.weight"; empty where no layer is in the name.
std::string layer_of(const std::string& name) {
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos || dot + 1 >= name.size() ||
        std::isdigit(static_cast<unsigned char>(name[dot + 1])) == 0)
        return {};
    const std::size_t end = name.find('.', dot + 1);
    return end == std::string::npos ? std::string() : name.substr(0, end + 1);
}

std::string without(const std::string& layer, const std::string& name) {
    return name.starts_with(layer) ? name.substr(layer.size()) : name;
}

// "matmul mlp.c_fc + bias + gelu_tanh", "write cache.k"
std::string what_of(const Graph& graph, const Node& node, const std::string& layer) {
    std::string text = node.op->name, bias, residual;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] < 0) continue;
        const Value& value = graph.value(graph.storage(node.inputs[i]));
        const std::string operand = node.op->operands[i], name = without(layer, value.name);
        if (operand == "bias")
            bias = " + bias";
        else if (operand == "residual")
            residual = " + residual";
        else if (value.kind == ValueKind::weight && operand != "beta")
            text += " " + name.substr(0, name.rfind(".weight"));
        else if (operand == "state")
            text += " " + name.substr(0, name.rfind('.'));
    }
    return text + bias + (node.attrs.has("activation") ? " + " + node.attrs.text("activation") : "") + residual;
}

std::string grid_of(const Launch& launch) {
    const std::string x =
        launch.keys_per_group > 0 ? format("keys/%u", launch.keys_per_group) : std::to_string(launch.groups[0]);
    return launch.groups[1] * launch.groups[2] == 1 ? x : x + format(" x %u x %u", launch.groups[1], launch.groups[2]);
}

DispatchLine line_of(const Graph& graph, const Schedule& schedule, const Dispatch& dispatch, const std::string& layer) {
    DispatchLine line{.barrier = dispatch.barrier_before,
                      .what = dispatch.label,
                      .kernel = {},
                      .result = {},
                      .grid = grid_of(dispatch.launch)};
    if (dispatch.node < 0) return line;
    const auto index = static_cast<std::size_t>(dispatch.node);
    const Node& node = graph.nodes()[index];
    line.what = what_of(graph, node, layer);
    line.kernel = schedule.kernels[index]->name;
    if (std::string(dispatch.launch.shader).find(node.op->name) == std::string::npos ||
        std::string(dispatch.launch.shader).ends_with("_join"))
        line.kernel += std::string(" (") + dispatch.launch.shader + ")";
    line.result = graph.value(node.outputs.front()).type.text();
    return line;
}

}  // namespace

std::vector<DispatchGroup> dispatch_groups(const Plan& plan) {
    const Graph& graph = plan.graph();
    struct Run {
        std::string layer;
        std::vector<DispatchLine> lines;
    };
    std::vector<Run> runs;
    for (const Dispatch& dispatch : plan.schedule().dispatches) {
        std::string layer =
            dispatch.node < 0 ? std::string() : layer_of(graph.nodes()[static_cast<std::size_t>(dispatch.node)].scope);
        if (dispatch.node < 0 && !runs.empty()) layer = runs.back().layer;  // a grid belongs to what comes after it
        if (runs.empty() || runs.back().layer != layer) runs.push_back({layer, {}});
        runs.back().lines.push_back(line_of(graph, plan.schedule(), dispatch, layer));
    }
    std::vector<DispatchGroup> groups;
    std::string last;
    const auto bare = [](const std::string& layer) {
        return layer.empty() ? layer : layer.substr(0, layer.size() - 1);
    };
    for (const Run& run : runs) {
        if (!groups.empty() && !run.layer.empty() && groups.back().dispatches == run.lines) {
            DispatchGroup& group = groups.back();
            group.name = (++group.times == 2 ? group.name : group.name.substr(0, group.name.find(" … "))) + " … " +
                         bare(run.layer);
        } else {
            groups.push_back({bare(run.layer), 1, run.lines});
        }
    }
    return groups;
}

}  // namespace vantage::cli
