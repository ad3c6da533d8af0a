#include "runtime/models/cost.h"

#include <set>

#include "runtime/models/symbols.h"

namespace vantage {

CostModel::CostModel(const ModelConfig& config, DType cache)
    : CostModel(config, cache, [config](const BuildOptions& options) { return build_model(config, options); }) {}

CostModel::CostModel(const ModelConfig& config, DType cache, GraphOf graph_of)
    : config_(config), cache_(cache), graph_of_(std::move(graph_of)), values_(symbol_values(config, cache)) {}

Graph CostModel::graph(std::int64_t rows, std::int64_t context) const {
    return graph_of_(
        {.rows = rows, .context = context, .cache = cache_, .watch = {}, .all_logits = false, .hidden = false});
}

Formula CostModel::simplified(const Formula& formula) const {
    const std::int64_t d = values_.at('d'), f = values_.at('f');
    return d > 0 && f > 0 && f % d == 0 ? formula.with('f', (f / d) * Formula::of("d")) : formula;
}

// ---- weights ---------------------------------------------------------------------------------------------------------

namespace {

// The sums over all weights, by part.
class WeightSums {
public:
    WeightSums(const Graph& graph, const ModelConfig& config, const SymbolValues& values)
        : graph_(graph), parts_(graph, config), values_(values) {}

    /// An operand of a node that is a weight: all of it belongs to one part, or so many columns to each.
    void add(std::size_t node, std::size_t operand, const Value& weight) {
        const Part part = parts_.of_operand(node, operand);
        const Shape& shape = weight.type.shape;
        if (part == Part::projections) return add_columns(node, weight);
        Formula formula = 1;
        for (int axis = 0; axis < shape.rank(); ++axis)
            formula = formula *
                      size_formula(values_, shape[axis], part == Part::experts && axis == 0 ? "E" : symbols_of(part));
        add(part, node, weight, 1, 1, formula);
    }

    std::vector<PartWeights> result(const ModelConfig& config) {
        std::vector<PartWeights> all;
        for (auto& [part, sum] : sums_) {
            sum.formula = formulas_[part].sum(config.layers);
            sum.active = sum.parameters;
            if (part == Part::experts)
                sum.active = sum.parameters / static_cast<std::uint64_t>(config.experts) *
                             static_cast<std::uint64_t>(config.experts_per_token);
            all.push_back(sum);
        }
        return all;
    }

private:
    void add_columns(std::size_t node, const Value& weight) {
        const std::int64_t all = graph_.value(graph_.nodes()[node].outputs[0]).type.shape[-1];
        const Formula rows = size_formula(values_, weight.type.shape.elements() / all, "d");
        for (const Parts::Columns& columns : parts_.columns(node))
            add(columns.part, node, weight, static_cast<std::uint64_t>(columns.count()),
                static_cast<std::uint64_t>(all), columns_formula(values_, columns) * rows);
    }

    // `count` of `all` columns.
    void add(Part part, std::size_t node, const Value& weight, std::uint64_t count, std::uint64_t all,
             const Formula& formula) {
        PartWeights& sum = sums_.try_emplace(part, PartWeights{.part = part, .formula = {}}).first->second;
        sum.parameters += static_cast<std::uint64_t>(weight.type.shape.elements()) / all * count;
        sum.bytes += weight.type.bytes() / all * count;
        (parts_.in_layer(node) ? formulas_[part].in_layers : formulas_[part].outside) += formula;
    }

    const Graph& graph_;
    const Parts parts_;
    const SymbolValues& values_;
    std::map<Part, PartWeights> sums_;
    std::map<Part, ByLayer> formulas_;
};

}  // namespace

std::vector<PartWeights> CostModel::weights() const {
    const Graph model = graph(1, 1);
    WeightSums sums(model, config_, values_);
    std::set<int> seen;  // a tied matrix belongs to what reads it first
    for (std::size_t i = 0; i < model.nodes().size(); ++i) {
        const std::vector<int>& inputs = model.nodes()[i].inputs;
        for (std::size_t operand = 0; operand < inputs.size(); ++operand) {
            if (inputs[operand] < 0) continue;
            const int id = model.storage(inputs[operand]);
            if (model.value(id).kind == ValueKind::weight && seen.insert(id).second)
                sums.add(i, operand, model.value(id));
        }
    }
    return sums.result(config_);
}

// ---- the cache -------------------------------------------------------------------------------------------------------

Formula CostModel::cache_per_token() const {
    const Graph model = graph(1, 1);
    ByLayer sum;
    for (const Value& value : model.values())
        if (value.kind == ValueKind::state && value.name.starts_with("cache."))
            sum.in_layers += size_formula(values_, value.type.shape[1] * value.type.shape[2], "dKH") * Formula::of("b");
    return sum.sum(config_.layers);
}

std::uint64_t CostModel::cache_bytes(std::int64_t context) const {
    return static_cast<std::uint64_t>(cache_per_token().value(values_)) * static_cast<std::uint64_t>(context);
}

}  // namespace vantage
