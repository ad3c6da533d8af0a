// The cost of a run: counts over all nodes, and closed formulas for matrix products and attention.
#include <algorithm>
#include <cmath>

#include "runtime/cost/cost.h"
#include "runtime/cost/symbols.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/schedule.h"
#include "runtime/ops/dequantize.h"
#include "runtime/ops/registry.h"
#include "runtime/ops/step.h"

namespace vantage::internal {

Cost RunCost::total() const {
    Cost sum;
    for (const RoleCost& one : roles) sum += one.cost;
    return sum;
}

Formula RunCost::flops() const {
    Formula sum;
    for (const RoleCost& one : roles) sum += one.flops;
    return sum;
}

Cost count_call(std::vector<RunCost::OpCost>& ops, const OpCall& call) {
    const Cost cost = call.op->cost != nullptr ? call.op->cost(call) : Cost{};
    auto op = std::ranges::find(ops, call.op->name, &RunCost::OpCost::op);
    if (op == ops.end()) op = ops.insert(op, {.op = call.op->name, .cost = {}});
    ++op->calls;
    op->cost += cost;
    return cost;
}

void RunCost::repeat(std::int64_t times) {
    const auto n = static_cast<double>(times);
    const auto repeated = [&](Cost& cost) { cost.flops *= n, cost.bytes_read *= n, cost.bytes_written *= n; };
    for (RoleCost& one : roles) {
        repeated(one.cost);
        one.flops = one.flops * Formula::of("n");
    }
    for (OpCost& one : ops) {
        repeated(one.cost);
        one.calls *= static_cast<int>(times);
    }
    matrices = matrices * Formula::of("n");
    weight_bytes *= n, cache_bytes *= n;
    steps *= times;
}

namespace {

// The closed formulas of the nodes of a run. `rows` is 1 or n; `values` has n.
class RunFormulas {
public:
    RunFormulas(const Graph& graph, const ModelRoles& roles, std::int64_t rows, SymbolValues& values)
        : graph_(graph), roles_(roles), rows_(rows), values_(values) {}

    /// 0 for nodes other than matrix products and attention.
    Formula of(std::size_t index, double counted) {
        const Node& node = graph_.nodes()[index];
        Formula formula;
        if (node.op == &matmul_op)
            formula = matrix_product(index);
        else if (node.op == &expert_linear_op)
            formula = expert_product(node);
        else if (node.op == &attention_op)
            formula = attention(index);
        else if (node.op == &alignment_op)
            formula = alignment(node, counted);
        else if (node.op == &recurrent_op)
            formula = recurrent(node);
        else
            return {};
        return formula.value(values_) == counted ? formula : Formula(std::llround(counted));
    }

    /// Elements of the matrix that the node reads; for experts, the maximum number among the choices.
    Formula matrix_read(std::size_t index) const {
        const Node& node = graph_.nodes()[index];
        if (node.op == &expert_linear_op)
            return expert_matrix(node) * (choices(node) >= values_.at('E')
                                              ? Formula::of("E")
                                              : Formula::of("k") * run_rows(choices(node) / values_.at('k')));
        const bool matmul = node.op == &matmul_op &&
                            graph_.value(graph_.storage(node.inputs[ops::matmul::b_])).kind == ValueKind::weight;
        return matmul ? matrix(index) : Formula();
    }

private:
    const Shape& shape(int id) const { return graph_.value(id).type.shape; }
    Formula run_rows(std::int64_t count) const {
        return count == rows_ && rows_ > 1 ? Formula::of("n") : Formula(count);
    }

    Formula matrix_product(std::size_t index) const {  // 2 rows in out
        const Shape& out = shape(graph_.nodes()[index].outputs[0]);
        const Formula rows = run_rows(out.elements() / std::max<std::int64_t>(out[-1], 1));
        if (roles_.of(index) == ModelRole::experts)  // the weighted sum over a token's experts
            return 2 * rows * Formula::of("k") * size_formula(values_, out[-1], "d");
        return 2 * rows * matrix(index);
    }

    Formula matrix(std::size_t index) const {  // in out
        const Node& node = graph_.nodes()[index];
        const ModelRole role = roles_.of(index);
        Formula columns;
        if (roles_.projects(index))
            for (const ModelRoles::Columns& one : roles_.columns(index)) columns += columns_formula(values_, one);
        else
            columns = size_formula(values_, shape(node.outputs[0])[-1], symbols_of(role));
        const std::string_view order = role == ModelRole::output || role == ModelRole::heads ? "d" : symbols_of(role);
        return columns * size_formula(values_, shape(node.inputs[ops::matmul::a_])[-1], order);
    }

    Formula expert_product(const Node& node) const {  // 2 choices in out
        return 2 * Formula::of("k") * run_rows(choices(node) / values_.at('k')) * expert_matrix(node);
    }

    Formula expert_matrix(const Node& node) const {  // in out
        const Shape& w = shape(node.inputs[ops::expert_linear::w_]);
        const std::int64_t cols = shape(node.outputs[0])[1];
        return size_formula(values_, cols, "df") * size_formula(values_, w.elements() / w[0] / cols, "df");
    }
    std::int64_t choices(const Node& node) const { return shape(node.outputs[0])[0]; }

    // 2 (D + Dv) per head, query and visible key: n keys, w with a window, or a triangle of these; in cross-attention m
    // encoder tokens.
    Formula attention(std::size_t index) {
        const Node& node = graph_.nodes()[index];
        const Shape &q = shape(node.inputs[ops::attention::q_]), &v = shape(node.inputs[ops::attention::v_]);
        const std::int64_t heads = q[-2], d = q[-1], dv = v[-1], keys = v[-3];
        const Formula n = Formula::of("n");
        const bool causal = node.attrs.flag("causal");
        Formula twice_seen =
            2 * run_rows(q[-3]) * (roles_.of(index) == ModelRole::cross_attention ? Formula::of("m") : n);
        if (causal && rows_ > 1) twice_seen = n * n + n;
        if (const std::int64_t window = node.attrs.integer("window_left", keys) + 1; causal && window <= keys) {
            values_['w'] = window;
            const Formula w = Formula::of("w");
            twice_seen = rows_ == 1 ? 2 * w : 2 * n * w + -1 * w * w + w;
        }
        if (d != dv) return heads * (d + dv) * twice_seen;
        return 2 * size_formula(values_, heads * d, "dHK") * twice_seen;
    }

    // Of each row and unit 2 d products for each gate, and 12 operations for its activation.
    Formula recurrent(const Node& node) const {
        const Shape& w = shape(node.inputs[ops::recurrent::w_]);
        const Formula units = size_formula(values_, w[1], "d"), gates = size_formula(values_, w[0], "f");
        return run_rows(shape(node.outputs[0]).rows()) * gates * (2 * units + 12);
    }
    // As much for each pair of a query and one of m source tokens.
    Formula alignment(const Node& node, double counted) const {
        const Shape& scores = shape(node.outputs[ops::alignment::s_]);
        const auto pairs = static_cast<double>(std::max<std::int64_t>(scores.elements(), 1));
        return run_rows(scores[0]) * Formula::of("m") * std::llround(counted / pairs);
    }

    const Graph& graph_;
    const ModelRoles& roles_;
    std::int64_t rows_;
    SymbolValues& values_;
};

// Rows that only recurrent layers do one after the other, with all that is before them.
std::int64_t row_steps(const OpCall& call) {
    return call.op == &recurrent_op
               ? std::max<std::int64_t>(call.out(0).shape[-2] / sequences_of(call, call.op->step), 1)
               : 0;
}

// Bytes of weights that a node reads: of tables only the rows that are used, of experts only the chosen ones.
double weight_bytes_of(const Graph& graph, const Node& node) {
    if (node.op == &embedding_op) return 0;
    double bytes = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] < 0) continue;
        const Value& value = graph.value(graph.storage(node.inputs[i]));
        if (value.kind != ValueKind::weight) continue;
        const Shape& shape = value.type.shape;
        const bool chosen = node.op == &expert_linear_op && i == ops::expert_linear::w_;
        const std::int64_t choices = graph.value(node.outputs[0]).type.shape[0];
        const bool again = node.op == &recurrent_op && i == ops::recurrent::w_;  // for each row
        bytes += static_cast<double>(value.type.bytes()) *
                 (again    ? static_cast<double>(row_steps(call_of(graph, node)))
                  : chosen ? static_cast<double>(std::min(shape[0], choices)) / static_cast<double>(shape[0])
                           : 1);
    }
    return bytes;
}

// Of a recurrent layer the states that it keeps count as read where a run begins with them.
double cache_bytes_of(const Graph& graph, const Node& node) {
    if (node.op == &row_before_op) return static_cast<double>(graph.value(node.outputs[0]).type.bytes());
    if (node.op != &attention_op && node.op != &alignment_op) return 0;
    const auto bytes = [&](std::size_t operand) {
        return static_cast<double>(graph.value(ops::dequantize::cache_of(graph, node.inputs[operand])).type.bytes());
    };
    if (node.op == &alignment_op) return bytes(ops::alignment::k_) + bytes(ops::alignment::v_);
    return bytes(ops::attention::k_) + bytes(ops::attention::v_);
}

}  // namespace

RunCost CostModel::run(bool encoder, std::int64_t rows, std::int64_t keys, std::int64_t source) const {
    Graph model = graph(rows, keys, encoder, source);
    fuse(model);
    const ModelRoles roles(model, config_);
    SymbolValues values = encoder ? encoder_values(config_, cache_) : values_;
    values['n'] = keys, values['m'] = source > 0 ? source : keys;
    RunFormulas formulas(model, roles, rows, values);
    RunCost run{.roles = {}, .ops = {}, .values = values_};
    std::map<ModelRole, Cost> costs;
    std::map<int, std::int64_t> steps;  // by storage: of what it depends on
    std::map<ModelRole, ByLayer> flops, matrices;
    for (const int index : live_nodes(model)) {
        const auto i = static_cast<std::size_t>(index);
        const Node& node = model.nodes()[i];
        const ModelRole role = roles.of(i);
        const auto of_layers = [&](ByLayer& sum) -> Formula& {
            return roles.in_layer(i) ? sum.in_layers : sum.outside;
        };
        const Cost cost = count_call(run.ops, call_of(model, node));
        costs[role] += cost;
        of_layers(flops[role]) += formulas.of(i, cost.flops);
        of_layers(matrices[role]) += formulas.matrix_read(i);
        std::int64_t before = 0;
        for (const int input : node.inputs)
            if (input >= 0) before = std::max(before, steps[model.storage(input)]);
        before += row_steps(call_of(model, node));
        for (const int output : node.outputs) steps[model.storage(output)] = before;
        run.steps = std::max(run.steps, before);
        run.weight_bytes += weight_bytes_of(model, node);
        run.cache_bytes += cache_bytes_of(model, node);
    }
    for (const char symbol : {'n', 'm', 'w'})
        if (values.count(symbol) != 0) run.values[symbol] = values.at(symbol);
    for (const auto& [role, cost] : costs) {
        run.matrices += closed_form(config_, encoder, role, matrices[role]);
        run.roles.push_back({.role = role, .cost = cost, .flops = closed_form(config_, encoder, role, flops[role])});
    }
    return run;
}

RunCost CostModel::prompt(std::int64_t tokens, std::int64_t source) const {
    if (!config_.row_by_row) return run(false, tokens, tokens, source);
    RunCost all = run(false, 1, tokens, source);
    all.repeat(tokens);
    return all;
}
RunCost CostModel::token(std::int64_t keys, std::int64_t source) const { return run(false, 1, keys, source); }
RunCost CostModel::source(std::int64_t tokens) const { return run(true, tokens, tokens, 0); }

}  // namespace vantage::internal
