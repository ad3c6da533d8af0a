#include "runtime/cost/cost.h"

#include <algorithm>
#include <set>

#include "runtime/cost/symbols.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/checks.h"

namespace vantage::internal {

CostModel::CostModel(const ModelConfig& config, DType cache)
    : CostModel(config, cache, [config](const BuildOptions& options) { return build_model(config, options); }) {}

CostModel::CostModel(const ModelConfig& config, DType cache, GraphOf graph_of)
    : config_(config), cache_(cache), graph_of_(std::move(graph_of)), values_(symbol_values(config, cache)) {}

Graph CostModel::graph(std::int64_t rows, std::int64_t context, bool encoder, std::int64_t source) const {
    return graph_of_({.rows = rows, .context = context, .encoder = encoder, .cache = cache_, .source_context = source});
}

Formula CostModel::simplified(const Formula& formula) const {
    Formula simple = formula;
    const std::int64_t d = values_.at('d');
    for (const char inner : {'f', 'g'})
        if (const std::int64_t size = values_.at(inner); d > 0 && size > 0 && size % d == 0)
            simple = simple.with(inner, (size / d) * Formula::of("d"));
    return simple;
}

// ---- weights --------------------------------------------------------------------------------------------------------

namespace {

// Sums over all weights, by role.
class WeightSums {
public:
    WeightSums(const Graph& graph, const ModelConfig& config, bool encoder, const SymbolValues& values)
        : graph_(graph), config_(config), encoder_(encoder), roles_(graph, config), values_(values) {}

    /// Counts all weights whose names are not in `seen`. A tied matrix belongs to the role that uses it first.
    void add_all(std::set<std::string>& seen) {
        for (std::size_t node = 0; node < graph_.nodes().size(); ++node) {
            const std::vector<int>& inputs = graph_.nodes()[node].inputs;
            for (std::size_t operand = 0; operand < inputs.size(); ++operand) {
                if (inputs[operand] < 0) continue;
                const Value& value = graph_.value(graph_.storage(inputs[operand]));
                if (value.kind == ValueKind::weight && seen.insert(value.name).second) add(node, operand, value);
            }
        }
    }

    void put_into(std::vector<RoleWeights>& all) {
        for (auto& [role, sum] : sums_) {
            sum.encoder = encoder_ && !is_cross_kv(role);
            sum.formula = closed_form(config_, encoder_, role, formulas_[role]);
            sum.active = sum.parameters;
            if (role == ModelRole::experts)
                sum.active = sum.parameters / static_cast<std::uint64_t>(config_.experts) *
                             static_cast<std::uint64_t>(config_.experts_per_token);
            all.push_back(sum);
        }
    }

private:
    /// A weight operand of a node: all of it belongs to one role, or some columns to each of several roles.
    void add(std::size_t node, std::size_t operand, const Value& weight) {
        const ModelRole role = roles_.of_operand(node, operand);
        const Shape& shape = weight.type.shape;
        if (roles_.projects(node) && role != ModelRole::router) return add_columns(node, weight);
        Formula formula = 1;
        for (int axis = 0; axis < shape.rank(); ++axis)
            formula = formula * size_formula(values_, shape[axis],
                                             role == ModelRole::experts && axis == 0 ? "E" : symbols_of(role));
        add(role, node, weight, 1, 1, formula);
    }

    void add_columns(std::size_t node, const Value& weight) {
        const std::int64_t all = graph_.value(graph_.nodes()[node].outputs[0]).type.shape[-1];
        const Formula rows = size_formula(values_, weight.type.shape.elements() / all, "d");
        for (const ModelRoles::Columns& columns : roles_.columns(node))
            add(columns.role, node, weight, static_cast<std::uint64_t>(columns.count()),
                static_cast<std::uint64_t>(all), columns_formula(values_, columns) * rows);
    }

    // `count` of `all` columns.
    void add(ModelRole role, std::size_t node, const Value& weight, std::uint64_t count, std::uint64_t all,
             const Formula& formula) {
        RoleWeights& sum = sums_.try_emplace(role, RoleWeights{.role = role, .formula = {}}).first->second;
        sum.parameters += static_cast<std::uint64_t>(weight.type.shape.elements()) / all * count;
        sum.bytes += weight.type.bytes() / all * count;
        (roles_.in_layer(node) ? formulas_[role].in_layers : formulas_[role].outside) += formula;
    }

    const Graph& graph_;
    const ModelConfig& config_;
    const bool encoder_;
    const ModelRoles roles_;
    const SymbolValues values_;
    std::map<ModelRole, RoleWeights> sums_;
    std::map<ModelRole, ByLayer> formulas_;
};

}  // namespace

std::vector<RoleWeights> CostModel::weights() const {
    std::vector<RoleWeights> all;
    std::set<std::string> seen;
    for (const bool encoder : {false, true}) {
        if (encoder && !is_encoder_decoder()) continue;
        const Graph model = graph(1, 1, encoder);
        WeightSums sums(model, config_, encoder, encoder ? encoder_values(config_, cache_) : values_);
        sums.add_all(seen);
        sums.put_into(all);
    }
    std::ranges::stable_sort(all, {}, [](const RoleWeights& one) { return std::pair(!one.encoder, one.role); });
    return all;
}

// ---- the cache ------------------------------------------------------------------------------------------------------

namespace {

// Of a state-space layer: not a row for each token.
bool is_kept_state(const Value& value) {
    return value.kind == ValueKind::state &&
           (value.name.starts_with("cache.conv.") || value.name.starts_with("cache.state."));
}

}  // namespace

Formula CostModel::cache_per_token(AttentionKind kind) const {
    const bool encoder = kind == AttentionKind::encoder;
    if (kind != AttentionKind::self && !is_encoder_decoder()) return {};
    const Graph model = graph(1, 1, encoder);
    const SymbolValues values = encoder ? encoder_values(config_, cache_) : values_;
    ByLayer sum;
    for (const Value& value : model.values()) {
        if (value.kind != ValueKind::state || !value.name.starts_with("cache.") || is_kept_state(value)) continue;
        const bool cross = value.name.find(".cross.") != std::string::npos;
        if (cross != (kind == AttentionKind::cross)) continue;
        const Formula size = size_formula(values, row_size(value.type.shape), "dKH");
        // Always f32 are states of recurrent layers; what cross-attention reads is not quantised.
        const bool fixed = (config_.recurrent && !cross) || value.type.dtype != cache_;
        const Formula bytes = fixed ? Formula(info(value.type.dtype).bytes) : Formula::of("b");
        // A recurrent model has one such layer, and one alignment.
        (config_.recurrent ? sum.outside : sum.in_layers) += size * bytes;
    }
    return closed_form(config_, encoder, ModelRole::attention, sum);
}

Formula CostModel::attention_weights() const {
    const std::int64_t rows = config_.is_vision() ? config_.context : 7;  // unlike the number of global tokens
    Formula all;
    for (const bool encoder : {false, true}) {
        if (encoder && !is_encoder_decoder()) continue;
        const Graph model = graph(rows, rows, encoder, rows);
        const ModelRoles roles(model, config_);
        ByLayer sum;
        for (std::size_t i = 0; i < model.nodes().size(); ++i) {
            const Node& node = model.nodes()[i];
            if (node.op != &attention_op) continue;
            const Shape& q = model.value(node.inputs[ops::attention::q_]).type.shape;
            const bool places = encoder && config_.sees();  // an image's, as many as it has keys
            const Formula queries = places || q[-3] == rows ? Formula::of("n") : Formula(q[-3]),
                          keys = Formula::of(roles.of(i) == ModelRole::cross_attention ? "m" : "n");
            sum.in_layers += size_formula(values_, q[-2], "h") * queries * keys;
        }
        all += closed_form(config_, encoder, ModelRole::attention, sum);
    }
    return all;
}

std::uint64_t CostModel::kept_state_bytes(std::int64_t context) const {
    if (!config_.state_space) return 0;
    std::uint64_t sum = 0;
    const Graph model = graph(1, context);
    for (const Value& value : model.values())
        if (is_kept_state(value)) sum += value.type.bytes();
    return sum;
}

std::uint64_t CostModel::cache_bytes(std::int64_t context) const {
    std::uint64_t sum = kept_state_bytes(context);
    for (const AttentionKind kind : {AttentionKind::self, AttentionKind::cross, AttentionKind::encoder}) {
        const bool image = config_.sees() && kind != AttentionKind::self;  // the source has as many places as it has
        sum += static_cast<std::uint64_t>(cache_per_token(kind).value(values_)) *
               static_cast<std::uint64_t>(image ? config_.image.places() : context);
    }
    return sum;
}

}  // namespace vantage::internal
