#include "runtime/models/parts.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "runtime/graph/op.h"
#include "runtime/models/model_builder.h"

namespace vantage {

namespace {

bool is_op(const Node& node, const char* name) { return node.op->name == std::string(name); }
bool is_norm(const Node& node) {
    return is_op(node, "layer_norm") || is_op(node, "rms_norm") || is_op(node, "batch_norm");
}

int behind_views(const Graph& graph, int id) {
    while (graph.value(id).kind == ValueKind::view) id = graph.value(id).alias;
    return id;
}

}  // namespace

const char* name_of(Part part) {
    switch (part) {
        case Part::embedding: return "embedding";
        case Part::positions: return "positions";
        case Part::query: return "attention q";
        case Part::key: return "attention k";
        case Part::value: return "attention v";
        case Part::projections: return "attention q, k, v";
        case Part::attention: return "attention scores";
        case Part::attention_out: return "attention o";
        case Part::sinks: return "attention sinks";
        case Part::mlp: return "mlp";
        case Part::router: return "router";
        case Part::experts: return "experts";
        case Part::norms: return "norms";
        case Part::output: return "output layer";
        case Part::heads: return "heads";
        case Part::encoder: return "encoder";
        case Part::other: return "other";
    }
    return "";
}

Parts::Parts(const Graph& graph, const ModelConfig& config) : graph_(graph), config_(config) {
    for (const Node& node : graph.nodes()) {
        if (is_op(node, "route")) trace(node.inputs[0], {Part::router, config.experts, 1});
        if (!is_op(node, "attention")) continue;
        for (const auto& [name, part] : {std::pair{"q", Part::query}, {"k", Part::key}, {"v", Part::value}}) {
            const int id = operand_named(node, name);
            const Shape& shape = graph.value(id).type.shape;
            trace(id, {part, shape[-2], shape[-1]});
        }
    }
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) parts_.push_back(part_of(i));
}

bool Parts::is_weight(int value) const {
    return value >= 0 && graph_.value(graph_.storage(value)).kind == ValueKind::weight;
}

bool Parts::in_head(std::size_t node) const {
    return graph_.segments()[static_cast<std::size_t>(graph_.nodes()[node].segment)] == "head";
}

bool Parts::in_layer(std::size_t node) const {  // "encoder.layer.3.": a scope of numbers only
    const std::string& scope = graph_.nodes()[node].scope;
    for (std::size_t i = scope.find('.'); i != std::string::npos && i + 1 < scope.size(); i = scope.find('.', i + 1))
        if (std::isdigit(static_cast<unsigned char>(scope[i + 1])) != 0) return true;
    return false;
}

void Parts::trace(int value, const Columns& made) {
    value = behind_views(graph_, value);
    if (graph_.value(value).kind != ValueKind::node) return;
    const auto index = static_cast<std::size_t>(graph_.value(value).node);
    const Node& node = graph_.nodes()[index];
    if (is_op(node, "matmul") && is_weight(operand_named(node, "b"))) {
        std::vector<Columns>& known = columns_[index];
        if (std::find(known.begin(), known.end(), made) == known.end()) known.push_back(made);
        return;
    }
    if (is_op(node, "add") || is_op(node, "embedding")) return;  // the residual stream: nobody's projection
    for (const int input : node.inputs)
        if (input >= 0) trace(input, made);
}

// Through what joins, adds or chooses between results of attention; a matrix product or a norm makes something else of them.
bool Parts::comes_from_attention(int value) const {
    const Value& from = graph_.value(behind_views(graph_, value));
    if (from.kind != ValueKind::node) return false;
    const Node& node = graph_.nodes()[static_cast<std::size_t>(from.node)];
    if (is_op(node, "attention")) return true;
    if (is_norm(node) || is_op(node, "matmul") || is_op(node, "expert_linear")) return false;
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](int input) { return input >= 0 && comes_from_attention(input); });
}

Part Parts::part_of(std::size_t index) const {
    const Node& node = graph_.nodes()[index];
    if (is_norm(node)) return Part::norms;
    if (is_op(node, "attention")) return Part::attention;
    if (is_op(node, "expert_linear")) return Part::experts;
    if (is_op(node, "embedding")) {
        if (!is_weight(operand_named(node, "w"))) return Part::other;  // rows of something that was computed
        const Value& ids = graph_.value(graph_.storage(node.inputs[0]));
        return ids.kind == ValueKind::constant || ids.name == model_names::types ? Part::positions : Part::embedding;
    }
    if (!is_op(node, "matmul")) return Part::other;
    if (!is_weight(operand_named(node, "b"))) return config_.experts > 0 ? Part::experts : Part::other;
    if (const auto found = columns_.find(index); found != columns_.end())
        return found->second.front().part == Part::router ? Part::router : Part::projections;
    if (in_head(index)) {
        const bool words = graph_.value(node.outputs[0]).type.shape[-1] == config_.vocab;
        return words || config_.kind != ModelKind::encoder ? Part::output : Part::heads;
    }
    if (comes_from_attention(node.inputs[0])) return Part::attention_out;
    return in_layer(index) ? Part::mlp : Part::embedding;
}

Part Parts::of_operand(std::size_t node, std::size_t operand) const {
    const std::string name = graph_.nodes()[node].op->operands[operand];
    if (parts_[node] == Part::embedding && name == "positions") return Part::positions;
    if (parts_[node] == Part::attention) return name == "sinks" ? Part::sinks : Part::positions;
    return parts_[node];
}

}  // namespace vantage
