#include "runtime/graph/fuse.h"

#include <algorithm>
#include <optional>

#include "runtime/base/at.h"
#include "runtime/base/quantize.h"
#include "runtime/graph/graph_data.h"
#include "runtime/ops/registry.h"
#include "shaders/params/activation.h"

namespace vantage::internal {

namespace {

// Nodes that were merged into others have no op until the last step removes them.
class Fuser {
public:
    explicit Fuser(Graph& graph) : graph_(graph) {}

    std::vector<std::string> run() {
        transpose_weights(graph_);
        uses_ = uses_of(graph_);
        for (std::size_t i = 0; i < nodes().size(); ++i) {
            Node& node = nodes()[i];
            if (node.op == &activation_op) merge_activation(node);
            if (node.op == &add_op) merge_residual(node);
            if (node.op == &write_op) merge_rope(node);
            if (node.op == &split_qkv_op) merge_split(i);
        }
        for (Node& node : nodes())
            if (node.op == &attention_op) merge_queries(node);
        for (Node& node : nodes()) {
            if (node.op == &layer_norm_op) merge_norm(node, ops::layer_norm::x_, ops::layer_norm::residual_);
            if (node.op == &rms_norm_op) merge_norm(node, ops::rms_norm::x_, ops::rms_norm::residual_);
        }
        remove_merged_nodes(graph_);
        return fused_;
    }

private:
    std::vector<Node>& nodes() { return mutable_nodes(graph_); }
    Value& value(int id) { return at(mutable_values(graph_), id); }

    // The node that computes `id`, if `id` has no other use, so that the node can be removed.
    Node* sole_producer(int id, const OpDef& op) {
        if (id < 0 || at(uses_.count, id) != 1 || value(id).kind != ValueKind::node) return nullptr;
        Node& producer = at(nodes(), value(id).node);
        return producer.op == &op && producer.outputs.front() == id ? &producer : nullptr;
    }

    // `into` takes the place of `node` and computes its result there, where all operands exist.
    void replace(Node& node, Node& into, const std::string& what) {
        fused_.push_back(name_of(graph_, into) + " + " + what);
        const std::vector<int> results = node.outputs;
        const int segment = node.segment;
        node = into;
        node.outputs = results;
        node.segment = segment;
        into.op = nullptr;
    }

    void merge_activation(Node& node) {
        Node* matmul = sole_producer(node.inputs[ops::activation::x_], matmul_op);
        const std::string kind = node.attrs.text("kind");
        const bool fits = activation_kind(kind) <= ACTIVATION_TANH;  // the others have a parameter
        if (matmul == nullptr || !fits || matmul->attrs.has("activation") ||
            matmul->inputs[ops::matmul::residual_] >= 0)
            return;
        matmul->attrs.set("activation", kind);
        replace(node, *matmul, kind);
    }

    void merge_residual(Node& node) {
        const int a = node.inputs[ops::elementwise::a_], b = node.inputs[ops::elementwise::b_];
        if (b < 0 || value(a).type != value(b).type) return;
        for (const auto& [product, other] : {std::pair{a, b}, {b, a}}) {
            Node* matmul = sole_producer(product, matmul_op);
            if (matmul == nullptr || matmul->inputs[ops::matmul::residual_] >= 0) continue;
            matmul->inputs[ops::matmul::residual_] = other;
            matmul->attrs.erase("beta");  // it had no residual to scale
            replace(node, *matmul, "residual");
            return;
        }
    }

    void merge_rope(Node& node) {
        using namespace ops::rope;
        Node* rope = sole_producer(node.inputs[ops::write::rows_], rope_op);
        const int step = node.inputs[ops::write::step_];
        if (is_quantized(value(node.inputs[ops::write::state_]).type.dtype)) return;
        if (rope == nullptr || step < 0 || rope->inputs[step_] != step) return;  // both by the same step
        if (rope->inputs[positions_] >= 0 || node.attrs.flag("by_lane")) return;
        if (rope->attrs.flag("heads_first") || value(rope->inputs[x_]).type.shape.rank() != 3)
            return;  // rows are tokens
        fused_.push_back(name_of(graph_, *rope) + " + write");
        node = {.op = &rope_write_op,
                .inputs = {rope->inputs[x_], rope->inputs[table_], step, node.inputs[ops::write::state_], -1, -1, -1},
                .outputs = node.outputs,
                .attrs = rope->attrs,
                .scope = node.scope,
                .where = rope->where,
                .segment = node.segment};
        rope->op = nullptr;
    }

    // Whether a node between two uses one of these values, or a view of one.
    bool is_used_between(std::size_t first, std::size_t last, std::initializer_list<int> ids) {
        for (std::size_t i = first + 1; i < last; ++i)
            for (int id : nodes()[i].op != nullptr ? nodes()[i].inputs : std::vector<int>())
                for (; id >= 0; id = value(id).alias)
                    if (std::ranges::count(ids, id) > 0) return true;
        return false;
    }
    // The number of the node that makes the value, or what the value is a view of, if its op is `op`.
    std::optional<std::size_t> maker(int id, const OpDef& op) {
        while (id >= 0 && value(id).kind == ValueKind::view) id = value(id).alias;
        if (id < 0 || value(id).kind != ValueKind::node || at(nodes(), value(id).node).op != &op) return std::nullopt;
        return static_cast<std::size_t>(value(id).node);
    }

    // Of the queries, keys and values of an attention the keys' rotation, on its way to the cache, takes those of the
    // queries and the write of the values with it. It moves to the last of the three.
    void merge_queries(const Node& attention) {
        using namespace ops::rope_write;
        const auto q = maker(attention.inputs[ops::attention::q_], rope_op),
                   k = maker(attention.inputs[ops::attention::k_], rope_write_op),
                   v = maker(attention.inputs[ops::attention::v_], write_op);
        if (!q || !k || !v) return;
        const Node rope = nodes()[*q], keys = nodes()[*k], values = nodes()[*v];
        const int rows = values.inputs[ops::write::rows_], state = values.inputs[ops::write::state_];
        const auto type = [&](int id) { return value(id).type; };
        const bool alike = rope.inputs[ops::rope::table_] == keys.inputs[table_] &&
                           rope.inputs[ops::rope::step_] == keys.inputs[step_] &&
                           values.inputs[ops::write::step_] == keys.inputs[step_] &&
                           rope.attrs.flag("interleaved") == keys.attrs.flag("interleaved") &&
                           rope.attrs.flag("inverse") == keys.attrs.flag("inverse") && rope.segment == keys.segment &&
                           values.segment == keys.segment;
        if (!alike || keys.inputs[q_] >= 0 || rope.inputs[ops::rope::positions_] >= 0 ||
            rope.attrs.flag("heads_first") || values.attrs.flag("by_lane"))
            return;
        const TensorType queries = type(rope.inputs[ops::rope::x_]), x = type(keys.inputs[x_]);
        if (queries.shape.rank() != 3 || queries.dtype != x.dtype || queries.shape[0] != x.shape[0] ||
            queries.shape[2] != x.shape[2] || type(rows) != x || type(state) != type(keys.inputs[state_]))
            return;
        const std::size_t last = std::max({*q, *k, *v});
        // nor does one of the three use what another one makes
        if (is_used_between(std::min({*q, *k, *v}), last + 1, {rope.outputs[0], keys.outputs[0], values.outputs[0]}))
            return;
        fused_.push_back(name_of(graph_, keys) + " + queries and values");
        nodes()[*q].op = nodes()[*k].op = nodes()[*v].op = nullptr;
        Node& all = nodes()[last];
        all = keys;
        all.inputs[q_] = rope.inputs[ops::rope::x_], all.inputs[v_] = rows, all.inputs[v_state_] = state;
        all.outputs = {keys.outputs[0], values.outputs[0], rope.outputs[0]};
        for (const int id : all.outputs) value(id).node = static_cast<int>(last);
    }

    // The write that is the only use of these rows and writes the first version of a state.
    std::optional<std::size_t> sole_write(int rows) {
        const std::size_t i = at(uses_.last_node, rows);
        const bool writes = at(uses_.count, rows) == 1 && nodes()[i].op == &write_op &&
                            nodes()[i].inputs[ops::write::rows_] == rows &&
                            value(nodes()[i].inputs[ops::write::state_]).kind == ValueKind::state;
        return writes ? std::optional(i) : std::nullopt;
    }

    // Writes k and v from the projection into the cache. The split moves to the later of the two writes: nodes in
    // between must not use q or the cache.
    void merge_split(std::size_t i) {
        using namespace ops::split_qkv;
        const Node split = nodes()[i];
        const std::optional<std::size_t> k = sole_write(split.outputs[k_]), v = sole_write(split.outputs[v_]);
        if (!k || !v || value(split.inputs[x_]).type.shape.rank() != 2 || split.attrs.flag("heads_first")) return;
        if (is_quantized(value(nodes()[*k].inputs[ops::write::state_]).type.dtype)) return;
        const Node write_k = nodes()[*k], write_v = nodes()[*v];
        const int step = write_k.inputs[ops::write::step_], k_state = write_k.inputs[ops::write::state_],
                  v_state = write_v.inputs[ops::write::state_];
        if (step != write_v.inputs[ops::write::step_] || write_k.segment != split.segment ||
            write_v.segment != split.segment || value(k_state).type != value(v_state).type)
            return;
        const std::size_t last = std::max(*k, *v);
        if (is_used_between(i, last, {split.outputs[q_], write_k.outputs[0], write_v.outputs[0]})) return;
        fused_.push_back(name_of(graph_, split) + " + write");
        nodes()[i].op = nodes()[*k].op = nodes()[*v].op = nullptr;
        nodes()[last] = {.op = &split_qkv_write_op,
                         .inputs = {split.inputs[x_], k_state, v_state, step},
                         .outputs = {split.outputs[q_], write_k.outputs[0], write_v.outputs[0]},
                         .attrs = split.attrs,
                         .scope = split.scope,
                         .where = split.where,
                         .segment = split.segment};
    }

    // y = norm(a + b): the norm moves to where the sum was computed and returns it as its last result.
    void merge_norm(Node& norm, std::size_t x, std::size_t residual) {
        const int sum = norm.inputs[x];
        if (sum < 0 || value(sum).kind != ValueKind::node || norm.inputs[residual] >= 0) return;
        Node& add = at(nodes(), value(sum).node);
        if (add.op != &add_op || add.segment != norm.segment) return;
        const int a = add.inputs[ops::elementwise::a_], b = add.inputs[ops::elementwise::b_];
        if (value(a).type != value(b).type) return;
        for (std::size_t operand = 0; operand < norm.inputs.size(); ++operand) {  // the norm moves up: gains must exist
            const int id = norm.inputs[operand];
            if (operand != x && id >= 0 && value(graph_.storage(id)).kind == ValueKind::node) return;
        }
        fused_.push_back(name_of(graph_, norm) + " + residual");
        Node merged = norm;
        merged.inputs[x] = a;
        merged.inputs[residual] = b;
        merged.outputs.push_back(sum);
        norm.op = nullptr;
        add = merged;
    }

    Graph& graph_;
    ValueUses uses_;  // before any node was merged
    std::vector<std::string> fused_;
};

// A matrix [.., in, out] that a node may take transposed: which operand it is, and the flag that says so.
struct LinearWeight {
    std::size_t operand;
    const char* transposed;
    int rank;
};
std::optional<LinearWeight> linear_weight(const Node& node) {
    if (node.op == &matmul_op) return LinearWeight{ops::matmul::b_, "transpose_b", 2};
    if (node.op == &expert_linear_op) return LinearWeight{ops::expert_linear::w_, "transpose_w", 3};
    return std::nullopt;
}

}  // namespace

void remove_merged_nodes(Graph& graph) {
    std::vector<Node>& nodes = mutable_nodes(graph);
    std::erase_if(nodes, [](const Node& node) { return node.op == nullptr; });
    for (std::size_t i = 0; i < nodes.size(); ++i)
        for (int id : nodes[i].outputs) at(mutable_values(graph), id).node = static_cast<int>(i);
}

ValueUses uses_of(const Graph& graph) {
    ValueUses uses;
    uses.count.resize(graph.values().size());
    uses.last_node.resize(graph.values().size());
    for (std::size_t i = 0; i < graph.nodes().size(); ++i)
        for (const int id : graph.nodes()[i].inputs)
            if (id >= 0) ++at(uses.count, id), at(uses.last_node, id) = i;
    for (const Value& v : graph.values())
        if (v.alias >= 0) ++at(uses.count, v.alias);
    for (const auto& [name, id] : graph.outputs()) ++at(uses.count, id);
    return uses;
}

void transpose_weights(Graph& graph) {
    std::vector<Node>& nodes = mutable_nodes(graph);
    std::deque<Value>& values = mutable_values(graph);
    std::vector<bool> only_linear(values.size(), true);
    const auto linear_use = [&](const Node& node, std::size_t operand) {
        const std::optional<LinearWeight> weight = linear_weight(node);
        return weight && weight->operand == operand && !node.attrs.flag(weight->transposed);
    };
    for (const Node& node : nodes)
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
            if (node.inputs[i] >= 0 && !linear_use(node, i)) at(only_linear, node.inputs[i]) = false;
    for (const Value& value : values)
        if (value.alias >= 0) at(only_linear, value.alias) = false;
    for (const auto& [name, id] : graph.outputs()) at(only_linear, id) = false;
    for (Node& node : nodes) {
        const std::optional<LinearWeight> matrix = linear_weight(node);
        if (!matrix || node.inputs[matrix->operand] < 0) continue;
        const auto id = static_cast<std::size_t>(node.inputs[matrix->operand]);
        Value& weight = values[id];
        if (weight.kind != ValueKind::weight || weight.type.shape.rank() != matrix->rank || !only_linear[id]) continue;
        if (!weight.transposed) {
            weight.transposed = true;
            std::swap(weight.type.shape[-2], weight.type.shape[-1]);
        }
        node.attrs.set(matrix->transposed, true);
    }
}

void allow_f16_operands(Graph& graph) {
    for (Node& node : mutable_nodes(graph))
        if (node.op == &matmul_op || node.op == &expert_linear_op || node.op == &attention_op ||
            node.op == &attention_backward_op)
            node.attrs.set("f16_operands", true);
}

void allow_f16_products(Graph& graph) {
    allow_f16_operands(graph);
    for (Node& node : mutable_nodes(graph))
        if (node.op == &matmul_op) node.attrs.set("f16_weights", true);
}

void allow_int8_operands(Graph& graph) {
    const auto is_multiplied_as_bytes = [&](const Node& node, std::size_t operand) {
        return has_byte_kernels(graph.value(node.inputs[operand]).type.dtype);
    };
    for (Node& node : mutable_nodes(graph))
        if ((node.op == &matmul_op && is_multiplied_as_bytes(node, ops::matmul::b_)) ||
            (node.op == &expert_linear_op && is_multiplied_as_bytes(node, ops::expert_linear::w_)))
            node.attrs.set("int8_operands", true);
}

void keep_stable(Graph& graph, bool any_rows) {
    for (Node& node : mutable_nodes(graph)) {
        if (node.op == &attention_op) node.attrs.set("any_cache", true);
        if (any_rows && (node.op == &matmul_op || node.op == &expert_linear_op)) node.attrs.set("any_rows", true);
    }
}

std::vector<std::string> fuse(Graph& graph) { return Fuser(graph).run(); }

}  // namespace vantage::internal
