#include "runtime/graph/fuse.h"

#include <algorithm>
#include <optional>

#include "vantage/op.h"

namespace vantage {

namespace {

bool is(const Node& node, const char* op) { return node.op != nullptr && std::string(node.op->name) == op; }

// Nodes that were merged into others lose their op; the last step removes them.
class Fuser {
public:
    explicit Fuser(Graph& graph) : graph_(graph) {}

    std::vector<std::string> run() {
        transpose_weights(graph_);
        count_uses();
        for (std::size_t i = 0; i < nodes().size(); ++i) {
            Node& node = nodes()[i];
            if (is(node, "activation")) merge_activation(node);
            if (is(node, "add")) merge_residual(node);
            if (is(node, "write")) merge_rope(node);
            if (is(node, "split_qkv")) merge_split(i);
        }
        for (std::size_t i = 0; i < nodes().size(); ++i)
            if (is(nodes()[i], "layer_norm") || is(nodes()[i], "rms_norm")) merge_norm(i);
        compact();
        return fused_;
    }

private:
    std::vector<Node>& nodes() { return graph_.mutable_nodes(); }
    Value& value(int id) { return graph_.mutable_values()[static_cast<std::size_t>(id)]; }

    void count_uses() {
        uses_.assign(graph_.values().size(), 0);
        for (const Node& node : graph_.nodes())
            for (int id : node.inputs)
                if (id >= 0) ++uses_[static_cast<std::size_t>(id)];
        for (const Value& v : graph_.values())
            if (v.alias >= 0) ++uses_[static_cast<std::size_t>(v.alias)];
        for (const auto& [name, id] : graph_.outputs()) ++uses_[static_cast<std::size_t>(id)];
    }

    // The node that computes `id`, if `id` is used nowhere else, so that it may disappear.
    Node* sole_producer(int id, const char* op) {
        if (id < 0 || uses_[static_cast<std::size_t>(id)] != 1 || value(id).kind != ValueKind::node) return nullptr;
        Node& producer = nodes()[static_cast<std::size_t>(value(id).node)];
        return is(producer, op) && producer.outputs.front() == id ? &producer : nullptr;
    }

    // `into` takes the place of `node`: it computes the node's result, where the node stood (all operands exist there).
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
        Node* matmul = sole_producer(node.inputs[0], "matmul");
        const std::string kind = node.attrs.text("kind");
        const bool known = kind != "elu" && kind != "softplus" && kind != "softcap";  // those have a parameter
        if (matmul == nullptr || !known || matmul->attrs.has("activation") || matmul->inputs[3] >= 0) return;
        matmul->attrs.set("activation", kind);
        replace(node, *matmul, kind);
    }

    void merge_residual(Node& node) {
        if (node.inputs[1] < 0 || value(node.inputs[0]).type != value(node.inputs[1]).type) return;
        for (int side : {0, 1}) {
            Node* matmul = sole_producer(node.inputs[static_cast<std::size_t>(side)], "matmul");
            if (matmul == nullptr || matmul->inputs[3] >= 0) continue;
            matmul->inputs[3] = node.inputs[static_cast<std::size_t>(1 - side)];
            matmul->attrs.erase("beta");  // it stood there without a residual to scale
            replace(node, *matmul, "residual");
            return;
        }
    }

    void merge_rope(Node& node) {
        static const OpDef* rope_write = find_op("rope_write");
        Node* rope = sole_producer(node.inputs[1], "rope");
        if (rope == nullptr || rope_write == nullptr || rope->inputs[3] != node.inputs[2])
            return;  // both by the same step
        if (rope->attrs.flag("heads_first") || value(rope->inputs[0]).type.shape.rank() != 3)
            return;  // rows are tokens
        fused_.push_back(name_of(graph_, *rope) + " + write");
        node = {.op = rope_write,
                .inputs = {rope->inputs[0], rope->inputs[1], node.inputs[2], node.inputs[0]},
                .outputs = node.outputs,
                .attrs = rope->attrs,
                .scope = node.scope,
                .where = rope->where,
                .segment = node.segment};
        rope->op = nullptr;
    }

    // The write that alone takes these rows, into a state as it is before the run; nothing when another node has them.
    std::optional<std::size_t> sole_write(int rows) {
        if (uses_[static_cast<std::size_t>(rows)] != 1) return std::nullopt;
        for (std::size_t i = 0; i < nodes().size(); ++i)
            if (is(nodes()[i], "write") && nodes()[i].inputs[1] == rows &&
                value(nodes()[i].inputs[0]).kind == ValueKind::state)
                return i;
        return std::nullopt;
    }

    // k and v go from the projection into the cache. The split moves to the later of the two writes: nothing in between may want
    // q or the cache.
    void merge_split(std::size_t i) {
        static const OpDef* split_qkv_write = find_op("split_qkv_write");
        const Node split = nodes()[i];
        const std::optional<std::size_t> k = sole_write(split.outputs[1]), v = sole_write(split.outputs[2]);
        if (!k || !v || value(split.inputs[0]).type.shape.rank() != 2 || split.attrs.flag("heads_first")) return;
        const Node key = nodes()[*k], written = nodes()[*v];
        if (key.inputs[2] != written.inputs[2] || key.segment != split.segment || written.segment != split.segment ||
            value(key.inputs[0]).type != value(written.inputs[0]).type)
            return;
        const std::size_t last = std::max(*k, *v);
        for (std::size_t between = i + 1; between < last; ++between)
            for (int id : nodes()[between].op != nullptr ? nodes()[between].inputs : std::vector<int>())
                for (; id >= 0; id = value(id).alias)
                    if (id == split.outputs[0] || id == key.outputs[0] || id == written.outputs[0]) return;
        fused_.push_back(name_of(graph_, split) + " + write");
        nodes()[i].op = nodes()[*k].op = nodes()[*v].op = nullptr;
        nodes()[last] = {.op = split_qkv_write,
                         .inputs = {split.inputs[0], key.inputs[0], written.inputs[0], key.inputs[2]},
                         .outputs = {split.outputs[0], key.outputs[0], written.outputs[0]},
                         .attrs = split.attrs,
                         .scope = split.scope,
                         .where = split.where,
                         .segment = split.segment};
    }

    // y = norm(a + b): the norm moves to where the sum was computed and returns it as its last result.
    void merge_norm(std::size_t i) {
        Node& norm = nodes()[i];
        const int sum = norm.inputs[0];
        const std::size_t residual = is(norm, "layer_norm") ? 3 : 2;
        if (sum < 0 || value(sum).kind != ValueKind::node || norm.inputs[residual] >= 0) return;
        Node& add = nodes()[static_cast<std::size_t>(value(sum).node)];
        if (!is(add, "add") || add.segment != norm.segment || value(add.inputs[0]).type != value(add.inputs[1]).type)
            return;
        for (std::size_t operand = 1; operand < norm.inputs.size();
             ++operand)  // the norm moves up: its gains have to be there
            if (const int id = norm.inputs[operand]; id >= 0 && value(graph_.storage(id)).kind == ValueKind::node)
                return;
        fused_.push_back(name_of(graph_, norm) + " + residual");
        Node merged = norm;
        merged.inputs[0] = add.inputs[0];
        merged.inputs[residual] = add.inputs[1];
        merged.outputs.push_back(sum);
        norm.op = nullptr;
        add = merged;
    }

    void compact() {
        auto& all = nodes();
        all.erase(std::remove_if(all.begin(), all.end(), [](const Node& node) { return node.op == nullptr; }),
                  all.end());
        for (std::size_t i = 0; i < all.size(); ++i)
            for (int id : all[i].outputs) value(id).node = static_cast<int>(i);
    }

    Graph& graph_;
    std::vector<int> uses_;
    std::vector<std::string> fused_;
};

}  // namespace

void transpose_weights(Graph& graph) {
    std::vector<Node>& nodes = graph.mutable_nodes();
    std::vector<Value>& values = graph.mutable_values();
    std::vector<bool> only_linear(values.size(), true);
    const auto linear_use = [&](const Node& node, std::size_t operand) {
        return operand == 1 && ((is(node, "matmul") && !node.attrs.flag("transpose_b")) ||
                                (is(node, "expert_linear") && !node.attrs.flag("transpose_w")));
    };
    for (const Node& node : nodes)
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
            if (node.inputs[i] >= 0 && !linear_use(node, i))
                only_linear[static_cast<std::size_t>(node.inputs[i])] = false;
    for (const Value& value : values)
        if (value.alias >= 0) only_linear[static_cast<std::size_t>(value.alias)] = false;
    for (const auto& [name, id] : graph.outputs()) only_linear[static_cast<std::size_t>(id)] = false;
    for (Node& node : nodes) {
        const bool of_experts = is(node, "expert_linear");
        if ((!is(node, "matmul") && !of_experts) || node.inputs[1] < 0) continue;
        Value& weight = values[static_cast<std::size_t>(node.inputs[1])];
        if (weight.kind != ValueKind::weight || weight.type.shape.rank() != (of_experts ? 3 : 2) ||
            !only_linear[static_cast<std::size_t>(node.inputs[1])])
            continue;
        if (!weight.transposed) {
            weight.transposed = true;
            std::swap(weight.type.shape[-2], weight.type.shape[-1]);
        }
        node.attrs.set(of_experts ? "transpose_w" : "transpose_b", true);
    }
}

void allow_f16_operands(Graph& graph) {
    for (Node& node : graph.mutable_nodes())
        if (is(node, "matmul") || is(node, "attention")) node.attrs.set("f16_operands", true);
}

void allow_int8_operands(Graph& graph) {
    for (Node& node : graph.mutable_nodes())
        if (is(node, "matmul") && is_quantized(graph.value(node.inputs[1]).type.dtype))
            node.attrs.set("int8_operands", true);
}

std::vector<std::string> fuse(Graph& graph) { return Fuser(graph).run(); }

}  // namespace vantage
