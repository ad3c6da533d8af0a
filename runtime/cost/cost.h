// Parameters of a model and the cost of a run. Numbers are counted on the graph, weight by weight and node by node
// (OpDef::cost). Each comes with a closed formula of the same value, in the symbols of symbols.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cost/formula.h"
#include "runtime/graph/op_def.h"
#include "runtime/models/model_builder.h"
#include "runtime/models/model_roles.h"

namespace vantage::internal {

/// The weights of one role.
struct RoleWeights {
    ModelRole role;
    bool encoder = false;  ///< whether it is in the encoder of an encoder–decoder
    std::uint64_t parameters = 0, bytes = 0;
    std::uint64_t active = 0;  ///< parameters used for one token: k of E experts
    Formula formula;           ///< of `parameters`
};

/// Arithmetic and memory traffic of one run.
struct RunCost {
    struct RoleCost {
        ModelRole role;
        Cost cost;
        Formula flops;  ///< of matrix products and attention, equal to the count of their nodes; 0 for other nodes
    };
    struct OpCost {
        std::string op;
        int calls = 0;
        Cost cost;
    };
    std::vector<RoleCost> roles;  ///< in the order of `ModelRole`
    std::vector<OpCost> ops;      ///< in the order of first occurrence
    double weight_bytes = 0;      ///< bytes read of weights
    Formula matrices;             ///< elements of the matrices that are read
    double cache_bytes = 0;       ///< bytes read of keys and values, and of recurrent states
    /// Steps over tokens that wait for one another: the rows of the recurrent layers, one after the other; 0 without
    /// any, where all tokens of a run are computed at once.
    std::int64_t steps = 0;
    SymbolValues values;  ///< values of the symbols in the formulas
    Cost total() const;
    Formula flops() const;  ///< sum over all roles
    /// As many runs of one row each, n of them.
    void repeat(std::int64_t times);
};

/// Adds the cost of a call to the entry of its op, or to a new one, and returns it.
Cost count_call(std::vector<RunCost::OpCost>& ops, const OpCall& call);

class CostModel {
public:
    using GraphOf = std::function<Graph(const BuildOptions&)>;
    /// `graph_of` builds the model's graph with the storage types of the weights: Model::graph, or build_model with f32
    /// weights.
    explicit CostModel(const ModelConfig& config, DType cache = DType::f16);
    CostModel(const ModelConfig& config, DType cache, GraphOf graph_of);

    /// In the order of `ModelRole`; those of the encoder of an encoder–decoder come first.
    std::vector<RoleWeights> weights() const;
    /// A run of n tokens without context before them. For an encoder–decoder: n tokens of the decoder, with `source`
    /// tokens in the encoder (0: n).
    RunCost prompt(std::int64_t tokens, std::int64_t source = 0) const;
    /// One token with `keys` visible keys, including its own, and `source` encoder tokens.
    RunCost token(std::int64_t keys, std::int64_t source = 0) const;
    /// The encoder of an encoder–decoder on m tokens, including the keys and values for the decoder's cross-attention.
    RunCost source(std::int64_t tokens) const;
    /// Bytes of keys and values per token, and of the states of recurrent layers. For an encoder–decoder: self: per
    /// decoder token; encoder and cross: per encoder token, for the encoder itself and for cross-attention.
    Formula cache_per_token(AttentionKind kind = AttentionKind::self) const;
    /// Bytes of the states that state-space layers keep of a text of `context` tokens; 0 without any.
    std::uint64_t kept_state_bytes(std::int64_t context) const;
    /// Bytes of all kinds, for texts of `context` tokens.
    std::uint64_t cache_bytes(std::int64_t context) const;
    /// The same model with keys and values of another type.
    CostModel with_cache(DType type) const { return {config_, type, graph_of_}; }
    /// Attention weights of one run of n tokens, over all layers and heads: L·H·n² for a decoder. For an
    /// encoder–decoder also those of the m encoder tokens, and of the n for the m. Masked weights are counted.
    Formula attention_weights() const;
    bool is_encoder_decoder() const { return config_.kind == ModelKind::encoder_decoder; }
    const SymbolValues& values() const { return values_; }
    /// The form that papers use: d for H·D and K·D, and multiples of d for f and g, if the sizes allow.
    Formula simplified(const Formula& formula) const;

private:
    Graph graph(std::int64_t rows, std::int64_t context, bool encoder = false, std::int64_t source = 0) const;
    RunCost run(bool encoder, std::int64_t rows, std::int64_t keys, std::int64_t source) const;

    const ModelConfig config_;
    DType cache_;
    GraphOf graph_of_;
    SymbolValues values_;
};

}  // namespace vantage::internal
