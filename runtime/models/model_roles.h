// Which part of a model a node and a weight belong to: found by what becomes of a node's result, not by the weights' names.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/models/config.h"
#include "vantage/graph.h"

namespace vantage {

/// In the order in which data meets them. Weights are of query, key and value apart, nodes of all three (projections); the
/// scores q·k and the mixing of values are attention; its only weights are sinks. Kinds of tokens (BERT's) are
/// among positions.
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
    cross_query,  ///< of an encoder–decoder: its decoder's layers look at the encoder's text
    cross_key,
    cross_value,
    cross_attention,
    cross_out,
    unused,  ///< what a run has no use for: Longformer's projections of global tokens where there are none
    mlp,
    router,
    experts,
    norms,
    output,
    heads,
    other
};
const char* name_of(ModelRole role);
/// Of the decoder's cross-attention, but in the encoder's graph: the text's keys and values for the decoder's layers.
inline bool is_cross_kv(ModelRole role) { return role == ModelRole::cross_key || role == ModelRole::cross_value; }

class ModelRoles {
public:
    ModelRoles(const Graph& graph, const ModelConfig& config);

    ModelRole of(std::size_t node) const { return roles_[node]; }
    /// Of a weight, by the node that reads it. For projections see `columns`.
    ModelRole of_operand(std::size_t node, std::size_t operand) const;
    /// The node is a linear layer that makes queries, keys, values or a router's logits: it has `columns`.
    bool projects(std::size_t node) const { return columns_.count(node) != 0; }
    /// Columns of a projection's result that become queries, keys or values.
    struct Columns {
        ModelRole role;
        std::int64_t heads, width;
        std::int64_t count() const { return heads * width; }
        bool operator==(const Columns&) const = default;
    };
    const std::vector<Columns>& columns(std::size_t node) const { return columns_.at(node); }
    /// The node belongs to a block that is there once for each layer.
    bool in_layer(std::size_t node) const;

private:
    ModelRole role_of(std::size_t node) const;
    /// The linear layers behind a value, through norms of heads, rotations, splits and caches, are of this part.
    void trace(int value, const Columns& made);
    void trace_attention(const Node& node);
    /// The keys are an encoder's: this graph reads them, but does not write them.
    bool is_cross(const Node& attention) const;
    /// The attention whose result this is, null where it is none's.
    const Node* attention_behind(int value) const;
    bool is_read(const Node& node) const;
    bool is_weight(int value) const;
    bool in_head(std::size_t node) const;

    const Graph& graph_;
    const ModelConfig& config_;
    std::vector<ModelRole> roles_;                         // by node
    std::map<std::size_t, std::vector<Columns>> columns_;  // of projections and routers
};

}  // namespace vantage
