// Assigns nodes and weights to parts of a model, by how a node's result is used, not by the names of weights.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/models/config.h"
#include "vantage/graph.h"

namespace vantage::internal {

/// In the order of the data flow. Query, key and value are separate roles for weights, but one (projections) for nodes.
/// The scores q·k and the weighted sum of values are attention; its only weights are sinks. Token types (BERT) belong
/// to positions.
enum class ModelRole : std::uint8_t {
    embedding,
    positions,
    query,
    key,
    value,
    projections,
    attention,
    attention_out,
    sinks,
    cross_query,  ///< encoder–decoder: the decoder's cross-attention to the encoder's tokens
    cross_key,
    cross_value,
    cross_attention,
    cross_out,
    /// Not used by a run, such as Longformer's projections for global tokens when there are none.
    unused,
    recurrent,  ///< recurrent layers, with the products of their inputs
    mlp,
    state_space,  ///< state-space layers: all but their norms
    router,
    experts,
    norms,
    output,
    heads,
    other
};
const char* name_of(ModelRole role);
/// Computed in the encoder's graph for the decoder's cross-attention: keys and values of the source.
inline bool is_cross_kv(ModelRole role) { return role == ModelRole::cross_key || role == ModelRole::cross_value; }

class ModelRoles {
public:
    ModelRoles(const Graph& graph, const ModelConfig& config);

    ModelRole of(std::size_t node) const { return roles_[node]; }
    /// The role of a weight, from the node that reads it. For projections see `columns`.
    ModelRole of_operand(std::size_t node, std::size_t operand) const;
    /// True for a linear layer that computes queries, keys, values or router logits: it has `columns`.
    bool projects(std::size_t node) const { return columns_.count(node) != 0; }
    /// The columns of a projection's result that become queries, keys or values.
    struct Columns {
        ModelRole role;
        std::int64_t heads, width;
        std::int64_t count() const { return heads * width; }
        bool operator==(const Columns&) const = default;
    };
    const std::vector<Columns>& columns(std::size_t node) const { return columns_.at(node); }
    /// True if the node belongs to a block that is repeated for each layer.
    bool in_layer(std::size_t node) const;

private:
    ModelRole role_of(std::size_t node) const;
    /// Assigns this role to the linear layers that a value comes from, through norms of heads, rotations, splits and
    /// caches.
    void trace(int value, const Columns& made);
    void trace_attention(const Node& node);
    void trace_cross_kv(const Node& node);
    /// True if the keys come from an encoder: this graph reads them, but does not write them. So does every alignment.
    bool is_cross(const Node& attention) const;
    /// The attention that produced this value, or null.
    const Node* attention_behind(int value) const;
    /// True if a recurrent layer takes its rows from this node.
    bool feeds_recurrent(const Node& node) const;
    bool is_read(const Node& node) const;
    bool is_weight(int value) const;
    bool in_head(std::size_t node) const;

    const Graph& graph_;
    const ModelConfig& config_;
    std::vector<ModelRole> roles_;                         // by node
    std::map<std::size_t, std::vector<Columns>> columns_;  // of projections and routers, by node
    std::set<std::string> mixers_;                         // scopes of state-space layers
    std::set<int> read_, recurrent_inputs_;  // values that a node or an output reads, or a recurrent layer
};

}  // namespace vantage::internal
