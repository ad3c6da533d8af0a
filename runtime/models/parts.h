// Which part of a model a node and a weight belong to: found by what becomes of a node's result, not by names.
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
enum class Part : std::uint8_t {
    embedding,
    positions,
    query,
    key,
    value,
    projections,
    attention,
    attention_out,
    sinks,
    mlp,
    router,
    experts,
    norms,
    output,
    heads,
    encoder,  ///< all of an encoder–decoder's encoder, which reads a text once
    other
};
const char* name_of(Part part);

class Parts {
public:
    Parts(const Graph& graph, const ModelConfig& config);

    Part of(std::size_t node) const { return parts_[node]; }
    /// Of a weight, by the node that reads it. For projections see `columns`.
    Part of_operand(std::size_t node, std::size_t operand) const;
    /// Columns of a projection's result that become queries, keys or values.
    struct Columns {
        Part part;
        std::int64_t heads, width;
        std::int64_t count() const { return heads * width; }
        bool operator==(const Columns&) const = default;
    };
    const std::vector<Columns>& columns(std::size_t node) const { return columns_.at(node); }
    /// The node belongs to a block that is there once for each layer.
    bool in_layer(std::size_t node) const;

private:
    Part part_of(std::size_t node) const;
    /// The linear layers behind a value, through norms of heads, rotations, splits and caches, are of this part.
    void trace(int value, const Columns& made);
    bool comes_from_attention(int value) const;
    bool is_weight(int value) const;
    bool in_head(std::size_t node) const;

    const Graph& graph_;
    const ModelConfig& config_;
    std::vector<Part> parts_;                              // by node
    std::map<std::size_t, std::vector<Columns>> columns_;  // of projections and routers
};

}  // namespace vantage
