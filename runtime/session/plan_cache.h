// The plans of a session or a batch, made when they are first needed.
#pragma once

#include <compare>
#include <map>
#include <memory>

#include "runtime/exec/bindings.h"
#include "runtime/models/model_builder.h"
#include "vantage/model.h"
#include "vantage/session.h"

namespace vantage {

/// Which graph of the model a plan runs, and for how many rows. A lane is a place for one sequence in a run; every lane
/// has `rows` rows.
struct PlanKey {
    std::int64_t lanes = 1, rows = 1;
    bool encoder = false;  ///< the encoder of an encoder–decoder
    bool logits = false;   ///< the logits of all rows are an output, and no token is drawn
    auto operator<=>(const PlanKey&) const = default;
};

/// The global tokens of a session: the first ones, as many as the model takes by itself where nothing says it; or
/// those at positions, ascending, which are not the first ones.
struct GlobalTokens {
    std::optional<std::int64_t> first = {};
    std::vector<std::int64_t> scattered = {};
};
/// Of options whose positions differ from each other.
GlobalTokens global_tokens_of(const SessionOptions& options);

class PlanCache {
public:
    /// `context`: rows of a sequence's cache.
    PlanCache(const Model& model, const SessionOptions& options, std::int64_t context)
        : model_(model), options_(options), context_(context) {}
    /// The memory that all plans share. Called once, before the first plan is made.
    void bind(std::shared_ptr<const Bindings> bindings) { bindings_ = std::move(bindings); }

    /// The plan for this key; compiled by the first call. Throws as Plan's constructor.
    Plan& get(const PlanKey& key);
    /// Its graph before compilation: the states that it needs, and how its layers attend.
    Graph graph(const PlanKey& key) const;
    std::size_t size() const { return plans_.size(); }
    /// Bytes of the plans' intermediates.
    std::uint64_t arena_bytes() const;

private:
    CompileOptions compile_options() const;

    const Model& model_;
    const SessionOptions& options_;
    std::int64_t context_;
    std::shared_ptr<const Bindings> bindings_;
    std::map<PlanKey, std::unique_ptr<Plan>> plans_;
};

}  // namespace vantage
