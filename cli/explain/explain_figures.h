// The data of `vantage explain`: costs from the model's graphs, memory and dispatches from its plans.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/explain/position_picture.h"
#include "runtime/cost/token_mixing.h"
#include "runtime/graph/schedule.h"
#include "vantage/session.h"

namespace vantage::cli {

/// Everything that the command prints.
struct Explanation {
    const Model& model;
    Session& session;
    std::int64_t tokens;         ///< of the prompt
    std::int64_t source_tokens;  ///< of an encoder–decoder's source: as many, or an image's places
    Precision precision;
    DType cache;  ///< of keys and values
    CostModel cost;
    std::vector<RoleWeights> weights;
    std::optional<RunCost> source;  ///< encoder–decoder: the encoder on its source
    RunCost prompt;
    std::optional<RunCost> token;     ///< the token after the prompt; not for encoders
    std::vector<std::int64_t> plans;  ///< rows of each plan: the prompt's, then the generated token's
    std::optional<std::vector<PositionScheme>> positions = {};  ///< with --positions
};
Explanation explanation(const Model& model, Session& session, std::int64_t tokens, const SessionOptions& options);

/// "mlp", "encoder mlp".
std::string name_of(const RoleWeights& weights);
/// Formula of all parameters, and the number of parameters that are used for one token.
Formula parameters_formula(const Explanation& e);
std::uint64_t active_parameters(const Explanation& e);
/// Contexts for a table: 1024, 2048, … (fewer tokens if the model's context is small), and the model's maximum.
std::vector<std::int64_t> shown_contexts(std::int64_t max_tokens);
/// Bytes of the weights by storage type.
std::map<std::string, std::uint64_t> weight_bytes(const Model& model);

/// Bytes of all attention weights of a text of `tokens` tokens: they are never stored. As wide as the cache's numbers,
/// or as wide as floats beside a quantised cache.
Formula attention_weight_bytes(const Explanation& e);
double attention_weight_bytes(const Explanation& e, std::int64_t tokens);
/// How layers of three kinds mix so many tokens, and the FLOP of each.
std::vector<std::pair<TokenMixing, double>> compared_layers(const Explanation& e, std::int64_t tokens);

/// Bytes of the states that a session like this one has in addition while it records attention.
std::uint64_t recording_bytes(const Explanation& e);

/// "encoder.layer.3." of "encoder.layer.3.output.dense.weight"; empty if the name has no layer.
std::string layer_of(const std::string& name);

/// One dispatch of a plan.
struct DispatchLine {
    bool barrier = false;
    std::string what;  ///< "matmul attn.c_attn + residual", without the layer
    std::string kernel;
    std::string result;  ///< "f32 [1, 384]"
    std::string grid;    ///< "12 x 1 x 1", "keys/256 x 4 x 1"
    bool operator==(const DispatchLine&) const = default;
};
/// The dispatches of one layer, or of consecutive layers with equal dispatches. Dispatches outside of layers form
/// groups, too.
struct DispatchGroup {
    std::string name;  ///< "h.1 … h.3"
    int times = 1;
    std::vector<DispatchLine> dispatches;
};
/// `names`: states by their names that are shown as weights of these names.
std::vector<DispatchGroup> dispatch_groups(const Graph& graph, const Schedule& schedule,
                                           std::span<const Dispatch> dispatches,
                                           const std::map<std::string, std::string>& names = {});

}  // namespace vantage::cli
