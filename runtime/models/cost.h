// What a model is made of and what a run of it costs. Numbers are counted on the graph, weight by weight and node by node
// (OpDef::cost); beside each stands the closed form that gives the same number, in the symbols of symbols.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/graph/op.h"
#include "runtime/models/formula.h"
#include "runtime/models/model_builder.h"
#include "runtime/models/parts.h"

namespace vantage {

/// The weights of one part.
struct PartWeights {
    Part part;
    std::uint64_t parameters = 0, bytes = 0;
    std::uint64_t active = 0;  ///< those that one token meets: k of E experts
    Formula formula;           ///< of `parameters`
};

/// Arithmetic and traffic of one run.
struct RunCost {
    struct PartCost {
        Part part;
        Cost cost;
        Formula flops;  ///< of matrix products and attention, equal to what their nodes count; nothing for other nodes
    };
    struct OpCost {
        std::string op;
        int calls = 0;
        Cost cost;
    };
    std::vector<PartCost> parts;  ///< in the order of `Part`
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

    /// In the order of `Part`.
    std::vector<PartWeights> weights() const;
    /// n tokens in one run, with all that came before forgotten.
    RunCost prompt(std::int64_t tokens) const;
    /// One token that sees `keys` keys, its own among them.
    RunCost token(std::int64_t keys) const;
    /// Bytes of keys and values that one more token takes.
    Formula cache_per_token() const;
    std::uint64_t cache_bytes(std::int64_t context) const;
    const SymbolValues& values() const { return values_; }
    /// With d for H·D and K·D, and multiples of d for f, where they are: what papers write.
    Formula simplified(const Formula& formula) const;

private:
    Graph graph(std::int64_t rows, std::int64_t context) const;
    RunCost run(std::int64_t rows, std::int64_t keys, SymbolValues values) const;

    const ModelConfig config_;
    DType cache_;
    GraphOf graph_of_;
    SymbolValues values_;
};

}  // namespace vantage
