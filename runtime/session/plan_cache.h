// The plans of a session or a batch, made when they are first needed.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/exec/bindings.h"
#include "runtime/models/model_builder.h"
#include "vantage/model.h"
#include "vantage/session.h"

namespace vantage::internal {

/// Which graph of the model a plan runs, and for how many rows. A lane is a place for one sequence in a run; every lane
/// has `rows` rows.
struct PlanKey {
    std::int64_t lanes = 1, rows = 1;
    bool encoder = false;  ///< the encoder of an encoder–decoder
    bool operator==(const PlanKey&) const = default;
};

/// The global tokens of a session: the first ones, as many as the model takes by itself where nothing says it; or
/// those at positions, ascending, which are not the first ones.
struct GlobalTokens {
    std::optional<std::int64_t> first = {};
    std::vector<std::int64_t> scattered = {};
};
/// Of options whose positions differ from each other.
GlobalTokens global_tokens_of(const SessionOptions& options);

/// Storage of keys and values in a session with these options.
DType cache_type(const SessionOptions& options);
/// The graph of a plan before compilation: the states that it needs, and how its layers attend. `context`: rows of a
/// sequence's cache.
Graph session_graph(const Model& model, const SessionOptions& options, std::int64_t context, const PlanKey& key);

class PlanCache {
public:
    /// Plans that are kept: more than a session needs, whose chunks have 5 sizes and whose encoder's have some 10. The
    /// encoders of a batch come with many numbers of lanes.
    static constexpr std::size_t max_plans = 16;

    /// `bindings`: the memory that all plans share.
    PlanCache(const Model& model, const SessionOptions& options, std::int64_t context,
              std::shared_ptr<const Bindings> bindings)
        : model_(model), options_(options), context_(context), bindings_(std::move(bindings)) {}

    /// The plan for this key, compiled where it is not there; valid until max_plans - 1 others were asked for. Throws
    /// as Plan's constructor.
    Plan& get(const PlanKey& key);
    /// Bytes of the plans' intermediates.
    std::uint64_t arena_bytes() const;

private:
    CompileOptions compile_options(const PlanKey& key) const;

    const Model& model_;
    const SessionOptions& options_;
    std::int64_t context_;
    std::shared_ptr<const Bindings> bindings_;
    struct Entry {
        PlanKey key;
        std::unique_ptr<Plan> plan;
    };
    std::list<Entry> plans_;  // the last used first
};

}  // namespace vantage::internal
