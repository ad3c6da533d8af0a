#include "cli/explain/explain_figures.h"

#include <algorithm>
#include <cctype>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/models/model_builder.h"
#include "runtime/ops/batch_norm.h"
#include "runtime/ops/expert_linear.h"
#include "runtime/ops/joint_linear.h"
#include "runtime/ops/layer_norm.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/optimizer.h"
#include "runtime/ops/rms_norm.h"
#include "runtime/ops/rope.h"
#include "runtime/ops/write.h"
#include "runtime/session/model_access.h"
#include "runtime/session/plan_cache.h"

namespace vantage::cli {

Explanation explanation(const Model& model, Session& session, std::int64_t tokens, const SessionOptions& options) {
    const bool decoder = config_of(model).kind != ModelKind::encoder;
    const DType floats = cache_type({.precision = options.precision});
    const CostModel cost(config_of(model), cache_type(options), [&model, floats](BuildOptions shape) {
        shape.cache_read = floats;
        return graph_of(model, shape);
    });
    const ModelConfig& config = config_of(model);
    const std::int64_t source = config.sees() ? config.image.places() : tokens;
    Explanation e{.model = model,
                  .session = session,
                  .tokens = tokens,
                  .source_tokens = source,
                  .precision = options.precision,
                  .cache = cache_type(options),
                  .cost = cost,
                  .weights = cost.weights(),
                  .source = cost.is_encoder_decoder() ? std::optional(cost.source(source)) : std::nullopt,
                  .prompt = cost.prompt(tokens, source),
                  .token = decoder ? std::optional(cost.token(tokens + 1, source)) : std::nullopt,
                  .plans = {session.chunk(tokens)}};
    if (decoder && e.plans.front() != 1) e.plans.push_back(1);
    return e;
}

std::string name_of(const RoleWeights& weights) {
    return std::string(weights.encoder ? "encoder " : "") + name_of(weights.role);
}

Formula parameters_formula(const Explanation& e) {
    Formula sum;
    for (const RoleWeights& one : e.weights) sum += one.formula;
    return e.cost.simplified(sum);
}

std::uint64_t active_parameters(const Explanation& e) {
    std::uint64_t sum = 0;
    for (const RoleWeights& one : e.weights) sum += one.active;
    return sum;
}

std::vector<std::int64_t> shown_contexts(std::int64_t max_tokens) {
    std::int64_t first = 1024;
    while (first > 1 && first * 4 > max_tokens) first /= 2;
    std::vector<std::int64_t> contexts;
    for (std::int64_t tokens = first; tokens < max_tokens; tokens *= 2) contexts.push_back(tokens);
    contexts.push_back(max_tokens);
    return contexts;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

namespace {

/// Values of a kind in the model's graph (encoder–decoder: in both graphs), by name.
std::map<std::string, TensorType> values_of(const Model& model, BuildOptions shape, ValueKind kind) {
    std::map<std::string, TensorType> found;
    const auto add = [&](bool encoder) {
        shape.encoder = encoder;
        const Graph graph = graph_of(model, shape);
        for (const Value& value : graph.values())
            if (value.kind == kind) found.emplace(value.name, value.type);
    };
    add(false);
    if (config_of(model).kind == ModelKind::encoder_decoder) add(true);
    return found;
}

}  // namespace

std::map<std::string, std::uint64_t> weight_bytes(const Model& model) {
    std::map<std::string, std::uint64_t> bytes;
    for (const auto& [name, type] : values_of(model, {.context = 1}, ValueKind::weight))
        bytes[name_of(type.dtype)] += type.bytes();
    return bytes;
}

namespace {
SymbolValues values_for(const Explanation& e, std::int64_t tokens) {
    SymbolValues values = e.cost.values();
    const std::vector<std::int64_t>& windows = config_of(e.model).windows;
    values['n'] = tokens, values['m'] = config_of(e.model).sees() ? e.source_tokens : tokens;
    values['w'] = windows.empty() ? 0 : std::ranges::max(windows);
    return values;
}
}  // namespace

Formula attention_weight_bytes(const Explanation& e) {
    const bool quantised = is_quantized(e.cache);
    return e.cost.attention_weights() *
           (quantised ? Formula(info(cache_type({.precision = e.precision})).bytes) : Formula::of("b"));
}

double attention_weight_bytes(const Explanation& e, std::int64_t tokens) {
    return attention_weight_bytes(e).value(values_for(e, tokens));
}

std::vector<std::pair<TokenMixing, double>> compared_layers(const Explanation& e, std::int64_t tokens) {
    std::vector<std::pair<TokenMixing, double>> all;
    for (TokenMixing& layer : token_mixing(config_of(e.model), tokens)) {
        const double flops = layer.flops.value(values_for(e, tokens));
        all.emplace_back(std::move(layer), flops);
    }
    return all;
}

std::uint64_t recording_bytes(const Explanation& e) {
    const ModelConfig& config = config_of(e.model);
    const auto layers = static_cast<std::size_t>(std::max(config.layers, config.encoder.layers));
    const BuildOptions recording{.context = e.session.context(),
                                 .cache = cache_type({.precision = e.precision}),  // recorded caches are not quantised
                                 .record_attention = std::vector<bool>(layers, true)};
    std::uint64_t bytes = 0;
    for (const auto& [name, type] : values_of(e.model, recording, ValueKind::state))
        if (name.starts_with("watch.")) bytes += type.bytes();
    return bytes;
}

std::string layer_of(const std::string& name) {
    const auto digit = [&](std::size_t at) {
        return at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0;
    };
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
        if (digit(dot + 1))
            if (const std::size_t end = name.find('.', dot + 1); end != std::string::npos)
                return name.substr(0, end + 1);
    return {};
}

// ---- the plan -------------------------------------------------------------------------------------------------------

namespace {

std::string without(const std::string& layer, const std::string& name) {
    return name.starts_with(layer) ? name.substr(layer.size()) : name;
}

// "matmul mlp.c_fc + bias + gelu_tanh", "write cache.k"
std::string what_of(const Graph& graph, const Node& node, const std::string& layer,
                    const std::map<std::string, std::string>& names) {
    using namespace ops;
    std::string text = node.op->name, bias, residual;
    for (int i = 0; i < std::ssize(node.inputs); ++i) {
        if (at(node.inputs, i) < 0) continue;
        const Value& value = graph.value(graph.storage(at(node.inputs, i)));
        const auto named = names.find(value.name);
        const std::string name = without(layer, named == names.end() ? value.name : named->second);
        if (is_one_of({node.op, i}, {{&matmul_op, matmul::bias_}, {&expert_linear_op, expert_linear::bias_}}))
            bias = " + bias";
        else if (is_one_of({node.op, i}, {{&matmul_op, matmul::residual_},
                                          {&layer_norm_op, layer_norm::residual_},
                                          {&rms_norm_op, rms_norm::residual_}}))
            residual = " + residual";
        else if ((value.kind == ValueKind::weight || named != names.end()) &&
                 !is_one_of({node.op, i}, {{&layer_norm_op, layer_norm::beta_},
                                           {&batch_norm_op, batch_norm::beta_},
                                           {&adam_op, adam::gradient_}}))
            text += " " + (name.ends_with(".weight") ? name.substr(0, name.rfind(".weight")) : name);
        else if (is_one_of({node.op, i}, {{&write_op, write::state_},
                                          {&rope_write_op, rope_write::state_},
                                          {&rope_write_op, rope_write::v_state_},
                                          {&linear_rope_write_op, linear_rope_write::k_state_},
                                          {&linear_rope_write_op, linear_rope_write::v_state_}}))
            text += " " + name.substr(0, name.rfind('.'));
    }
    return text + bias + (node.attrs.has("activation") ? " + " + node.attrs.text("activation") : "") + residual;
}

std::string grid_of(const Launch& launch) {
    const std::string x =
        launch.keys_per_group > 0 ? format("keys/{}", launch.keys_per_group) : std::to_string(launch.groups[0]);
    return launch.groups[1] * launch.groups[2] == 1 ? x : x + format(" x {} x {}", launch.groups[1], launch.groups[2]);
}

DispatchLine line_of(const Graph& graph, const Schedule& schedule, const Dispatch& dispatch, const std::string& layer,
                     const std::map<std::string, std::string>& names) {
    DispatchLine line{.barrier = dispatch.barrier_before,
                      .what = dispatch.label,
                      .kernel = {},
                      .result = {},
                      .grid = grid_of(dispatch.launch)};
    if (dispatch.node < 0) return line;
    const auto index = static_cast<std::size_t>(dispatch.node);
    const Node& node = graph.nodes()[index];
    line.what = what_of(graph, node, layer, names);
    line.kernel = schedule.kernels[index]->name;
    if (std::string(dispatch.launch.shader).find(node.op->name) == std::string::npos ||
        std::string(dispatch.launch.shader).ends_with("_reduce_splits"))
        line.kernel += std::string(" (") + dispatch.launch.shader + ")";
    line.result = graph.value(node.outputs.front()).type.text();
    return line;
}

}  // namespace

std::vector<DispatchGroup> dispatch_groups(const Graph& graph, const Schedule& schedule,
                                           std::span<const Dispatch> dispatches,
                                           const std::map<std::string, std::string>& names) {
    std::vector<DispatchGroup> layers;  // consecutive dispatches of a layer; its name ends with a dot
    for (const Dispatch& dispatch : dispatches) {
        std::string layer = dispatch.node < 0 ? std::string() : layer_of(at(graph.nodes(), dispatch.node).scope);
        if (dispatch.node < 0 && !layers.empty())
            layer = layers.back().name;  // a grid dispatch belongs to the dispatch after it
        if (layers.empty() || layers.back().name != layer) layers.push_back({layer, 1, {}});
        layers.back().dispatches.push_back(line_of(graph, schedule, dispatch, layer, names));
    }
    std::vector<DispatchGroup> groups;
    for (DispatchGroup& layer : layers) {
        const bool again = !groups.empty() && !layer.name.empty() && groups.back().dispatches == layer.dispatches;
        if (!layer.name.empty()) layer.name.pop_back();
        if (!again) {
            groups.push_back(std::move(layer));
            continue;
        }
        DispatchGroup& group = groups.back();
        group.name =
            (++group.times == 2 ? group.name : group.name.substr(0, group.name.find(" … "))) + " … " + layer.name;
    }
    return groups;
}

}  // namespace vantage::cli
