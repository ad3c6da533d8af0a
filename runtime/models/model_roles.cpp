#include "runtime/models/model_roles.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "runtime/base/at.h"
#include "runtime/models/model_builder.h"
#include "runtime/ops/alignment.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/batch_norm.h"
#include "runtime/ops/concat.h"
#include "runtime/ops/elementwise.h"
#include "runtime/ops/embedding.h"
#include "runtime/ops/expert_linear.h"
#include "runtime/ops/layer_norm.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/recurrent.h"
#include "runtime/ops/rms_norm.h"
#include "runtime/ops/rope.h"
#include "runtime/ops/route.h"
#include "runtime/ops/row_before.h"
#include "runtime/ops/split_qkv.h"
#include "runtime/ops/state_space.h"
#include "runtime/ops/write.h"

namespace vantage::internal {

namespace {

bool is_norm(const Node& node) {
    return node.op == &layer_norm_op || node.op == &rms_norm_op || node.op == &batch_norm_op;
}

int without_views(const Graph& graph, int id) {
    while (graph.value(id).kind == ValueKind::view) id = graph.value(id).alias;
    return id;
}

}  // namespace

const char* name_of(ModelRole role) {
    switch (role) {
        case ModelRole::embedding: return "embedding";
        case ModelRole::positions: return "positions";
        case ModelRole::query: return "attention q";
        case ModelRole::key: return "attention k";
        case ModelRole::value: return "attention v";
        case ModelRole::projections: return "attention q, k, v";
        case ModelRole::attention: return "attention scores";
        case ModelRole::attention_out: return "attention o";
        case ModelRole::sinks: return "attention sinks";
        case ModelRole::cross_query: return "cross-attention q";
        case ModelRole::cross_key: return "cross-attention k";
        case ModelRole::cross_value: return "cross-attention v";
        case ModelRole::cross_attention: return "cross-attention scores";
        case ModelRole::cross_out: return "cross-attention o";
        case ModelRole::unused: return "attention, global (unused)";
        case ModelRole::recurrent: return "recurrent layers";
        case ModelRole::mlp: return "mlp";
        case ModelRole::state_space: return "state space";
        case ModelRole::router: return "router";
        case ModelRole::experts: return "experts";
        case ModelRole::norms: return "norms";
        case ModelRole::output: return "output layer";
        case ModelRole::heads: return "heads";
        case ModelRole::other: return "other";
    }
    return "";
}

ModelRoles::ModelRoles(const Graph& graph, const ModelConfig& config) : graph_(graph), config_(config) {
    for (const auto& [name, id] : graph.outputs()) read_.insert(without_views(graph, id));
    for (const Node& node : graph.nodes()) {
        for (const int input : node.inputs)
            if (input >= 0) read_.insert(without_views(graph, input));
        if (node.op == &recurrent_op) recurrent_inputs_.insert(without_views(graph, node.inputs[ops::recurrent::x_]));
        if (node.op == &state_space_cached_op) mixers_.insert(node.scope);
        if (node.op == &route_op) trace(node.inputs[ops::route::logits_], {ModelRole::router, config.experts, 1});
        if (node.op == &attention_op) trace_attention(node);
        if (node.op == &split_qkv_write_op) trace_cross_kv(node);
        if (node.op == &alignment_op) {
            const int q = node.inputs[ops::alignment::q_];
            trace(q, {ModelRole::cross_query, 1, graph.value(q).type.shape[-1]});
        }
        if (node.op != &write_op) continue;  // cross keys and values: the encoder writes them to these states
        const std::string& state = graph.value(graph.storage(node.inputs[ops::write::state_])).name;
        const int written = node.inputs[ops::write::rows_];
        const Shape& rows = graph.value(written).type.shape;
        if (state.starts_with("cache.k.cross.")) trace(written, {ModelRole::cross_key, rows[-2], rows[-1]});
        if (state.starts_with("cache.v.cross.")) trace(written, {ModelRole::cross_value, rows[-2], rows[-1]});
    }
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) roles_.push_back(role_of(i));
}

// Keys and values from one projection, which fusion writes at once.
void ModelRoles::trace_cross_kv(const Node& node) {
    using namespace ops::split_qkv_write;
    for (const auto& [state, role] : {std::pair{k_state_, ModelRole::cross_key}, {v_state_, ModelRole::cross_value}}) {
        const Value& cache = graph_.value(graph_.storage(node.inputs[static_cast<std::size_t>(state)]));
        if (cache.name.find(".cross.") != std::string::npos)
            trace(node.inputs[x_], {role, cache.type.shape[-2], cache.type.shape[-1]});
    }
}

void ModelRoles::trace_attention(const Node& node) {
    const auto heads_of = [&](std::size_t operand, ModelRole role) {
        const int id = node.inputs[operand];
        const Shape& shape = graph_.value(id).type.shape;
        trace(id, {role, shape[-2], shape[-1]});
    };
    heads_of(ops::attention::q_, is_cross(node) ? ModelRole::cross_query : ModelRole::query);
    heads_of(ops::attention::k_, ModelRole::key);
    heads_of(ops::attention::v_, ModelRole::value);
}

bool ModelRoles::is_cross(const Node& attention) const {
    return graph_.value(without_views(graph_, attention.inputs[ops::attention::k_])).node < 0;
}

bool ModelRoles::feeds_recurrent(const Node& node) const { return recurrent_inputs_.contains(node.outputs[0]); }

bool ModelRoles::is_read(const Node& node) const { return read_.contains(node.outputs[0]); }

bool ModelRoles::is_weight(int value) const {
    return value >= 0 && graph_.value(graph_.storage(value)).kind == ValueKind::weight;
}

bool ModelRoles::in_head(std::size_t node) const {
    return at(graph_.segments(), graph_.nodes()[node].segment) == "head";
}

bool ModelRoles::in_layer(std::size_t node) const {  // "encoder.layer.3.": only numbers identify a layer
    const std::string& scope = graph_.nodes()[node].scope;
    for (std::size_t i = scope.find('.'); i != std::string::npos && i + 1 < scope.size(); i = scope.find('.', i + 1))
        if (std::isdigit(static_cast<unsigned char>(scope[i + 1])) != 0) return true;
    return false;
}

void ModelRoles::trace(int value, const Columns& made) {
    if (value < 0) return;
    value = without_views(graph_, value);
    if (graph_.value(value).kind != ValueKind::node) return;
    const auto index = static_cast<std::size_t>(graph_.value(value).node);
    const Node& node = graph_.nodes()[index];
    if (node.op == &matmul_op && is_weight(node.inputs[ops::matmul::b_])) {
        std::vector<Columns>& known = columns_[index];
        if (std::ranges::count(known, made) == 0) known.push_back(made);
        if (const int y = node.inputs[ops::matmul::residual_]; y >= 0)
            trace(y, made);  // of an adapter: the layer's own
        return;
    }
    // the residual stream is not a projection, and neither are states
    if (is_one_of({node.op, 0}, {{&add_op, 0}, {&embedding_op, 0}, {&recurrent_op, 0}, {&row_before_op, 0}})) return;
    if (node.op == &rope_write_op) {  // queries, keys and values come out of it as they went in
        using namespace ops::rope_write;
        const auto result = std::ranges::find(node.outputs, value) - node.outputs.begin();
        return trace(node.inputs[result == q_out_ ? q_ : result == v_cache_ ? v_ : x_], made);
    }
    for (const int input : node.inputs) trace(input, made);
}

// Passes through nodes that merge, add or select results of attention, but not through a matrix product or a norm.
const Node* ModelRoles::attention_behind(int value) const {
    if (value < 0) return nullptr;
    const Value& from = graph_.value(without_views(graph_, value));
    if (from.kind != ValueKind::node) return nullptr;
    const Node& node = at(graph_.nodes(), from.node);
    if (node.op == &attention_op || node.op == &alignment_op) return &node;
    if (is_norm(node) || node.op == &matmul_op || node.op == &expert_linear_op) return nullptr;
    for (const int input : node.inputs)
        if (const Node* found = attention_behind(input)) return found;
    return nullptr;
}

ModelRole ModelRoles::role_of(std::size_t index) const {
    const Node& node = graph_.nodes()[index];
    if (is_norm(node)) return ModelRole::norms;
    if (mixers_.contains(node.scope)) return ModelRole::state_space;
    if (node.op == &recurrent_op) return ModelRole::recurrent;
    if (node.op == &alignment_op) return ModelRole::cross_attention;
    if (node.op == &attention_op) return is_cross(node) ? ModelRole::cross_attention : ModelRole::attention;
    if (node.op == &expert_linear_op) return ModelRole::experts;
    if (node.op == &embedding_op) {
        if (!is_weight(node.inputs[ops::embedding::w_])) return ModelRole::other;  // multiplies by computed rows
        const Value& ids = graph_.value(graph_.storage(node.inputs[ops::embedding::ids_]));
        return ids.name == model_names::tokens || ids.name == model_names::source_tokens ? ModelRole::embedding
                                                                                         : ModelRole::positions;
    }
    if (node.op != &matmul_op) return ModelRole::other;
    if (!is_weight(node.inputs[ops::matmul::b_])) return config_.experts > 0 ? ModelRole::experts : ModelRole::other;
    if (const auto found = columns_.find(index); found != columns_.end()) {
        const ModelRole first = found->second.front().role;
        return first == ModelRole::query || first == ModelRole::key || first == ModelRole::value
                   ? ModelRole::projections
                   : first;
    }
    if (feeds_recurrent(node)) return ModelRole::recurrent;
    if (in_head(index)) {
        const bool words = graph_.value(node.outputs[0]).type.shape[-1] == config_.vocab;
        return words || config_.kind != ModelKind::encoder ? ModelRole::output : ModelRole::heads;
    }
    if (const Node* attention = attention_behind(node.inputs[ops::matmul::a_]))
        return attention->op == &alignment_op || is_cross(*attention) ? ModelRole::cross_out : ModelRole::attention_out;
    if (config_.recurrent) return ModelRole::recurrent;  // first states, made from the encoder's last
    if (!in_layer(index)) return ModelRole::embedding;
    return is_read(node) ? ModelRole::mlp : ModelRole::unused;
}

ModelRole ModelRoles::of_operand(std::size_t node, std::size_t operand) const {
    const OpDef* op = graph_.nodes()[node].op;
    if (roles_[node] == ModelRole::embedding && operand == ops::embedding::positions_) return ModelRole::positions;
    if (roles_[node] == ModelRole::attention)
        return operand == ops::attention::sinks_ ? ModelRole::sinks : ModelRole::positions;
    if (roles_[node] == ModelRole::other && op == &add_op) return ModelRole::positions;
    if (roles_[node] == ModelRole::other && op == &concat_op) return ModelRole::embedding;
    return roles_[node];
}

}  // namespace vantage::internal
