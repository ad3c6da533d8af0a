#include "runtime/graph/merge_projections.h"

#include <algorithm>
#include <array>
#include <map>

#include "runtime/base/at.h"
#include "runtime/graph/graph_data.h"
#include "runtime/ops/registry.h"
#include "runtime/ops/step.h"

namespace vantage::internal {

namespace {

using namespace ops::matmul;

class ProjectionMerger {
public:
    ProjectionMerger(Graph& graph, const Caps& caps, const KernelChoice& choose)
        : graph_(graph), caps_(caps), choose_(choose), nodes_(mutable_nodes(graph)), uses_(uses_of(graph)) {}

    std::vector<std::string> run() {
        std::map<int, std::vector<std::size_t>> alike;  // by x: the products that may be merged, in their order
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            if (mergeable(nodes_[i])) alike[nodes_[i].inputs[a_]].push_back(i);
        for (const auto& [x, products] : alike) merge_alike(products);
        remove_merged_nodes(graph_);
        uses_ = uses_of(graph_);
        for (Node& node : nodes_)
            if (node.op == &rope_write_op) merge_rotation(node);
        remove_merged_nodes(graph_);
        return merged_;
    }

private:
    bool mergeable(const Node& node) const {
        if (node.op != &matmul_op || node.inputs[residual_] >= 0) return false;
        for (const char* attr : {"transpose_a", "activation", "alpha"})
            if (node.attrs.has(attr)) return false;
        const Value& weight = graph_.value(node.inputs[b_]);
        if (weight.kind != ValueKind::weight || weight.type.shape.rank() != 2 || !node.attrs.flag("transpose_b"))
            return false;
        const OpCall call = call_of(graph_, node);
        const Kernel* kernel = choose_(call, caps_);
        return kernel != nullptr && kernel->mergeable;
    }

    // Whether its kernel rounds rows to bytes.
    bool rounds(const Node& node) const {
        const Kernel* kernel = choose_(call_of(graph_, node), caps_);
        return kernel != nullptr && (kernel->needs & need_int8_dot) != 0;
    }

    DType type_of(const Node& node, std::size_t operand) const { return graph_.value(node.inputs[operand]).type.dtype; }
    // A launch has one type of weights and one type of biases.
    bool fit(const Node& a, const Node& b) const {
        return a.segment == b.segment && type_of(a, b_) == type_of(b, b_) &&
               (a.inputs[bias_] < 0 || b.inputs[bias_] < 0 || type_of(a, bias_) == type_of(b, bias_));
    }

    void merge_alike(std::vector<std::size_t> products) {
        for (std::size_t i = 0; i + 1 < products.size(); ++i)
            if (nodes_[products[i]].op == &matmul_op) merge_gate(products[i], products[i + 1]);
        std::erase_if(products, [&](std::size_t i) { return nodes_[i].op != &matmul_op; });
        while (products.size() > 1) {
            std::vector<std::size_t> some{products.front()}, rest;
            for (std::size_t i = 1; i < products.size(); ++i) {
                const bool fits = some.size() < 3 && std::ranges::all_of(some, [&](std::size_t one) {
                                      return fit(nodes_[one], nodes_[products[i]]);
                                  });
                (fits ? some : rest).push_back(products[i]);
            }
            if (some.size() > 1) merge(some);
            products = rest;
        }
    }

    // The node that replaces these products. It takes the place of the first, where x and all weights exist.
    Node merged_node(const std::vector<std::size_t>& products) const {
        const Node& first = nodes_[products.front()];
        const bool in_bytes = std::ranges::all_of(products, [&](std::size_t one) { return rounds(nodes_[one]); });
        Node joint{.op = &joint_linear_op,
                   .inputs = std::vector<int>(joint_linear_op.operands.size(), -1),
                   .scope = first.scope,
                   .where = first.where,
                   .segment = first.segment};
        if (in_bytes) joint.attrs.set("int8_operands", true);
        joint.inputs[ops::joint_linear::x_] = first.inputs[a_];
        for (std::size_t i = 0; i < products.size(); ++i) {
            joint.inputs[ops::joint_linear::w0_ + i] = nodes_[products[i]].inputs[b_];
            joint.inputs[ops::joint_linear::bias0_ + i] = nodes_[products[i]].inputs[bias_];
        }
        return joint;
    }

    void merge(const std::vector<std::size_t>& products) {
        Node joint = merged_node(products);
        for (std::size_t product : products) joint.outputs.push_back(nodes_[product].outputs.front());
        merged_.push_back(name_of(graph_, nodes_[products.front()]) + " + " + (products.size() == 3 ? "two" : "one") +
                          " of the same rows");
        for (std::size_t product : products) nodes_[product].op = nullptr;
        nodes_[products.front()] = joint;
    }

    // The node that alone uses what both products give, if it is a gated unit of them.
    Node* unit_of(int gate, int up) {
        Node& unit = nodes_[at(uses_.last_node, gate)];
        const bool alone = at(uses_.count, gate) == 1 && at(uses_.count, up) == 1;
        const bool fits = alone && unit.op == &swiglu_op && unit.inputs[ops::swiglu::gate_] == gate &&
                          unit.inputs[ops::swiglu::up_] == up;
        return fits ? &unit : nullptr;
    }

    void merge_gate(std::size_t first, std::size_t second) {
        if (!fit(nodes_[first], nodes_[second])) return;
        const int a = nodes_[first].outputs.front(), b = nodes_[second].outputs.front();
        Node* unit = unit_of(a, b);
        if (unit == nullptr) {
            std::swap(first, second);
            unit = unit_of(b, a);
        }
        if (unit == nullptr || unit->attrs.has("limit") || unit->attrs.has("up_offset") ||
            unit->segment != nodes_[first].segment)
            return;
        Node joint = merged_node({first, second});
        joint.attrs.set("gate", unit->attrs.text("kind", "silu"));
        joint.outputs = unit->outputs;
        merged_.push_back(name_of(graph_, nodes_[first]) + " + up and gate");
        unit->op = nullptr;
        nodes_[first].op = nodes_[second].op = nullptr;
        nodes_[std::min(first, second)] = joint;
    }

    // The projection that gives a value which nothing but this use of it reads, and which of its results that is.
    struct Source {
        int node = -1, result = 0;
    };
    Source projection_of(int id) const {
        for (;; id = graph_.value(id).alias) {
            if (id < 0 || at(uses_.count, id) != 1) return {};
            if (graph_.value(id).kind != ValueKind::view) break;
        }
        const int node = graph_.value(id).kind == ValueKind::node ? graph_.value(id).node : -1;
        if (node < 0 || at(nodes_, node).op != &joint_linear_op) return {};
        const std::vector<int>& results = at(nodes_, node).outputs;
        return {node, static_cast<int>(std::ranges::find(results, id) - results.begin())};
    }

    // Queries, keys and values of one token of each sequence turn, and go into the caches, where they are computed.
    void merge_rotation(Node& write) {
        using namespace ops::rope_write;
        const std::array sources{projection_of(write.inputs[q_]), projection_of(write.inputs[x_]),
                                 projection_of(write.inputs[v_])};
        const int joint_node = sources[0].node;
        if (joint_node < 0 || sources[1].node != joint_node || sources[2].node != joint_node) return;
        const Node joint = at(nodes_, joint_node);
        const OpCall call = call_of(graph_, write);
        const TensorType& x = graph_.value(joint.inputs[ops::joint_linear::x_]).type;
        const std::int64_t widths = ops::linear_rope_write::widths;
        if (joint.segment != write.segment || joint.attrs.has("gate") || write.attrs.flag("inverse") ||
            x.shape.rank() != 2 || x.shape[0] != sequences_of(call, step_) || call.in(x_).shape[-1] % widths != 0 ||
            call.in(table_).shape[1] % widths != 0)
            return;
        merged_.push_back(name_of(graph_, joint) + " + rope_write");
        Node all = write;
        all.op = &linear_rope_write_op;
        all.attrs.set("head_width", call.in(x_).shape[-1]);
        if (joint.attrs.flag("int8_operands")) all.attrs.set("int8_operands", true);
        all.inputs = {joint.inputs[ops::joint_linear::x_]};
        for (const int first : {ops::joint_linear::w0_, ops::joint_linear::bias0_})
            for (const Source& source : sources) all.inputs.push_back(at(joint.inputs, first + source.result));
        for (const int operand : {table_, step_, state_, v_state_}) all.inputs.push_back(at(write.inputs, operand));
        at(nodes_, joint_node).op = nullptr;
        write = all;
    }

    Graph& graph_;
    const Caps& caps_;
    const KernelChoice& choose_;
    std::vector<Node>& nodes_;
    ValueUses uses_;  // before a pass began
    std::vector<std::string> merged_;
};

}  // namespace

std::vector<std::string> merge_projections(Graph& graph, const Caps& caps, const KernelChoice& choose) {
    return ProjectionMerger(graph, caps, choose).run();
}

}  // namespace vantage::internal
