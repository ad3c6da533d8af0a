// What a Graph and its Tensors share, and the passes' access to it.
#pragma once

#include "runtime/base/internal.h"
#include "vantage/graph.h"

namespace vantage::internal {

struct GraphData {
    Graph::WeightTypes weight_types = {};
    std::vector<Node> nodes = {};
    std::deque<Value> values = {};  // a deque: references to types stay valid while values are added
    std::map<std::string, int> outputs = {};
    std::map<std::string, int> by_name = {};  // inputs, weights, constants, states
    std::string scope = {};                   // "h.3."
    std::vector<std::string> segments = {"main"};
};

/// For passes that rewrite a graph (fusion): nodes and values as plain data, which the pass keeps consistent.
struct GraphAccess {
    static GraphData& data(Graph& graph) { return graph.data(); }
    static std::vector<Tensor> call(Graph& graph, const OpDef& op, std::vector<Tensor> inputs, Attrs attrs,
                                    SourceLocation where) {
        return graph.call(op, std::move(inputs), std::move(attrs), where);
    }
    static int add_value(Graph& graph, Value value) {
        return graph.add_value(std::move(value), SourceLocation::here());
    }
    static Tensor tensor(Graph& graph, int id) { return Tensor(graph.data_, id); }
    /// `x` as another value, with the marks of `view`.
    static Tensor view(Graph& graph, const Tensor& x, Value view, SourceLocation where) {
        view.type = x.type(), view.kind = ValueKind::view, view.alias = x.id();
        return {graph.data_, graph.add_value(std::move(view), where)};
    }
    /// Whether a tensor is this value of `graph`, or of a copy of it.
    static bool same_value(const Tensor& tensor, const Graph& graph) {
        const auto id = static_cast<std::size_t>(tensor.id_);
        return tensor.graph_ && id < graph.data().values.size() &&
               graph.data().values[id].serial == tensor.graph_->values[id].serial;
    }
    /// The same graph when no tensor and no other handle shares its data, else a copy: later calls on those do not
    /// reach it.
    static Graph unshared(Graph graph) { return graph.data_.use_count() == 1 ? std::move(graph) : graph.copy(); }
};

inline std::vector<Node>& mutable_nodes(Graph& graph) { return GraphAccess::data(graph).nodes; }
inline std::deque<Value>& mutable_values(Graph& graph) { return GraphAccess::data(graph).values; }
/// Removes nodes without an op, which a pass has merged into others.
void remove_merged_nodes(Graph& graph);
/// By value: how many nodes, views and outputs use it, and the number of the last node that does.
struct ValueUses {
    std::vector<int> count;
    std::vector<std::size_t> last_node;
};
ValueUses uses_of(const Graph& graph);

}  // namespace vantage::internal
