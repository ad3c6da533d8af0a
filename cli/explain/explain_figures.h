// The figures behind `vantage explain`: costs from the model's graphs, memory and dispatches from its plans.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cost/cost.h"
#include "vantage/session.h"

namespace vantage::cli {

/// All that is known about a model, once.
struct Explanation {
    const Model& model;
    Session& session;
    std::int64_t tokens;  ///< of the prompt
    Precision precision;
    CostModel cost;
    std::vector<RoleWeights> weights;
    std::optional<RunCost> source;  ///< a text as long as the prompt, read by an encoder–decoder's encoder
    RunCost prompt;
    std::optional<RunCost> token;     ///< the one after the prompt; an encoder has none
    std::vector<std::int64_t> plans;  ///< by rows: the prompt's first, then the generated token's
};
Explanation explanation(const Model& model, Session& session, std::int64_t tokens, Precision precision);
void print_text(const Explanation& e);
void print_json(const Explanation& e);

/// "mlp", "encoder mlp".
std::string name_of(const RoleWeights& weights);
/// Formula of all parameters, and how many of them one token meets.
Formula parameters_formula(const Explanation& e);
std::uint64_t active_parameters(const Explanation& e);
/// Contexts for a table: 1024, 2048, … (from less on where the model's context is small), and the model's.
std::vector<std::int64_t> shown_contexts(std::int64_t max_tokens);
/// Bytes of the weights by storage type.
std::map<std::string, std::uint64_t> weight_bytes(const Model& model);

/// Bytes that the states of a session with these options would take, by the first word of their names.
std::map<std::string, std::uint64_t> state_bytes(const Model& model, std::int64_t context, Precision precision,
                                                 bool record_attention);

/// One dispatch of a plan.
struct DispatchLine {
    bool barrier = false;
    std::string what;  ///< "matmul attn.c_attn + residual", without the layer
    std::string kernel;
    std::string result;  ///< "f32 [1, 384]"
    std::string grid;    ///< "12 x 1 x 1", "keys/256 x 4 x 1"
    bool operator==(const DispatchLine&) const = default;
};
/// Dispatches of one layer after another that are the same but for the layer's number; outside of layers one group.
struct DispatchGroup {
    std::string name;  ///< "h.1 … h.3"
    int times = 1;
    std::vector<DispatchLine> dispatches;
};
std::vector<DispatchGroup> dispatch_groups(const Plan& plan);

}  // namespace vantage::cli
