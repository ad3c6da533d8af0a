// What a model is made of and what a run of it costs. Numbers are counted on the graph, weight by weight and node by node
// (OpDef::cost); beside each stands the closed form that gives the same number, in the symbols of symbols.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/cost/formula.h"
#include "runtime/models/model_builder.h"
#include "runtime/models/model_roles.h"
#include "vantage/op.h"

namespace vantage {

/// The weights of one part.
struct RoleWeights {
    ModelRole role;
    bool encoder = false;  ///< of an encoder–decoder's encoder
    std::uint64_t parameters = 0, bytes = 0;
    std::uint64_t active = 0;  ///< those that one token meets: k of E experts
    Formula formula;           ///< of `parameters`
};

/// Arithmetic and traffic of one run.
struct RunCost {
    struct RoleCost {
        ModelRole role;
        Cost cost;
        Formula flops;  ///< of matrix products and attention, equal to what their nodes count; nothing for other nodes
    };
    struct OpCost {
        std::string op;
        int calls = 0;
        Cost cost;
    };
    std::vector<RoleCost> roles;  ///< in the order of `ModelRole`
    std::vector<OpCost> ops;      ///< in the order in which ops come first
    double weight_bytes = 0;      ///< of what is read: weights
    Formula matrices;             ///< elements of the matrices among these weights
    double cache_bytes = 0;       ///< of what is read: keys and values
    SymbolValues values;          ///< of the symbols in the formulas
    Cost total() const;
    Formula flops() const;  ///< of all parts together
};

class CostModel {
public:
    using GraphOf = std::function<Graph(const BuildOptions&)>;
    /// `graph_of` makes the model's graph with the weights' storage types: Model::graph, or build_model with f32 weights.
    explicit CostModel(const ModelConfig& config, DType cache = DType::f16);
    CostModel(const ModelConfig& config, DType cache, GraphOf graph_of);

    /// In the order of `ModelRole`, those of an encoder–decoder's encoder first.
    std::vector<RoleWeights> weights() const;
    /// n tokens in one run, with all that came before forgotten. Of an encoder–decoder the decoder's, whose encoder has read
    /// `source` tokens (0 = as many).
    RunCost prompt(std::int64_t tokens, std::int64_t source = 0) const;
    /// One token that sees `keys` keys, its own among them, and those of `source` tokens that an encoder has read.
    RunCost token(std::int64_t keys, std::int64_t source = 0) const;
    /// The encoder of an encoder–decoder, which reads m tokens; with the keys and values that the decoder's layers take.
    RunCost source(std::int64_t tokens) const;
    /// Bytes of keys and values that one more token takes: its own; or of an encoder–decoder one that the encoder reads, for
    /// the encoder itself, or for the decoder (cross).
    Formula cache_per_token(AttentionKind kind = AttentionKind::self) const;
    /// Of all of them, for texts of so many tokens.
    std::uint64_t cache_bytes(std::int64_t context) const;
    bool is_encoder_decoder() const { return config_.kind == ModelKind::encoder_decoder; }
    const SymbolValues& values() const { return values_; }
    /// With d for H·D and K·D, and multiples of d for f and g, where they are: what papers write.
    Formula simplified(const Formula& formula) const;

private:
    Graph graph(std::int64_t rows, std::int64_t context, bool encoder = false, std::int64_t source = 0) const;
    RunCost run(bool encoder, std::int64_t rows, std::int64_t keys, std::int64_t source) const;

    const ModelConfig config_;
    DType cache_;
    GraphOf graph_of_;
    SymbolValues values_;
};

}  // namespace vantage
