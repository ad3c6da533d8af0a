#include "runtime/session/head_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/exec/plan_access.h"
#include "runtime/graph/schedule.h"
#include "runtime/ops/attention_kernels.h"
#include "runtime/ops/joint_linear.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/rope.h"
#include "runtime/ops/step.h"
#include "runtime/session/model_access.h"

namespace vantage::internal {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double allowed_difference = 1e-4;  // of the largest value

/// The node that computes a layer's attention in a plan.
std::optional<int> attention_node(const Graph& graph, const HeadId& head) {
    const std::string keys = model_names::keys(head.layer, head.kind);
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
        const Node& node = graph.nodes()[i];
        if (node.op == &attention_op && graph.value(graph.storage(node.inputs[ops::attention::k_])).name == keys)
            return static_cast<int>(i);
    }
    return std::nullopt;
}

/// The product that the queries come from, and whether they are rotated behind it.
struct Projection {
    int node = -1;
    bool rotated = false;
};
Projection projection_of(const Graph& graph, const Node& attention) {
    Projection found;
    for (int value = attention.inputs[ops::attention::q_]; value >= 0;) {
        const Value& from = graph.value(value);
        if (from.kind == ValueKind::view) {
            value = from.alias;
            continue;
        }
        if (from.kind != ValueKind::node) break;
        const Node& node = at(graph.nodes(), from.node);
        found.rotated = found.rotated || node.op == &rope_op || node.op == &rope_write_op;
        if (node.op == &linear_rope_write_op) return {from.node, true};
        if (node.op == &rope_write_op) {  // with the keys and values
            value = node.inputs[ops::rope_write::q_];
            continue;
        }
        const bool adds = node.op == &matmul_op && node.inputs[ops::matmul::residual_] >= 0;  // an adapter to its layer
        if (!adds && (node.op == &matmul_op || node.op == &joint_linear_op)) return {from.node, found.rotated};
        value = adds ? node.inputs[ops::matmul::residual_] : node.inputs.front();
    }
    throw unsupported_error("attention steps: {} has no projection of queries", name_of(graph, attention));
}

/// What is kept of one plan's run.
struct Piece {
    OpCall call;
    std::vector<HostTensor> in, out;  // of the attention
    HostTensor x;
    std::int64_t first = 0, rows = 0, keys = 0;
};

Piece run_piece(Plan& plan, int node, const Projection& projection) {
    std::vector<NodeDump> dumps = PlanAccess::run_keeping(plan, std::vector{projection.node, node});
    NodeDump &linear = dumps.front(), &attention = dumps.back();
    for (std::size_t i = 1; i < linear.inputs.size(); ++i) linear.inputs[i].clear(), linear.call.inputs[i].reset();
    Piece piece{.call = attention.call,
                .in = inputs_of(attention),
                .out = results_of(attention),
                .x = inputs_of(linear).front()};
    const HostTensor& step = piece.in[ops::attention::step_];
    piece.first = word(step, STEP_POSITION);
    piece.rows = word(step, STEP_VALID);
    piece.keys = piece.call.has(ops::attention::kv_len_)
                     ? static_cast<std::int64_t>(piece.in[ops::attention::kv_len_][0])
                     : word(step, STEP_KEYS);
    return piece;
}

/// Rows of a head's matrix, one behind the other.
struct Rows {
    std::int64_t width = 0;
    std::vector<float> values;
    void add(const HostTensor& from, std::int64_t row, std::int64_t count) {
        width = count;
        for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(from[row * count + i]));
    }
    Array array() && {
        const Shape shape{std::ssize(values) / std::max<std::int64_t>(width, 1), width};
        return {shape, std::move(values)};
    }
};

double dot(const Array& a, std::int64_t i, const Array& b, std::int64_t j) {
    double sum = 0;
    for (std::int64_t d = 0; d < a.shape()[1]; ++d) sum += static_cast<double>(a(i, d)) * static_cast<double>(b(j, d));
    return sum;
}

/// a bᵀ.
Array products(const Array& a, const Array& b) {
    Rows all{.width = b.shape()[0], .values = {}};
    for (std::int64_t i = 0; i < a.shape()[0]; ++i)
        for (std::int64_t j = 0; j < b.shape()[0]; ++j) all.values.push_back(static_cast<float>(dot(a, i, b, j)));
    return std::move(all).array();
}

/// Softmax by rows; `sink`: one more logit in the denominator. A row of -inf alone gives 0.
Array softmax_rows(const Array& scores, double sink = -infinity) {
    const std::int64_t m = scores.shape()[1];
    std::vector<float> weights(scores.begin(), scores.end());
    for (std::int64_t i = 0; i < scores.shape()[0]; ++i) {
        const std::span row(weights.data() + i * m, static_cast<std::size_t>(m));
        const double largest = std::max(static_cast<double>(std::ranges::max(row)), sink);
        double sum = std::isinf(largest) ? 1 : std::exp(sink - largest);
        if (!std::isinf(largest))
            for (const float score : row) sum += std::exp(static_cast<double>(score) - largest);
        for (float& one : row)
            one = std::isinf(largest) ? 0 : static_cast<float>(std::exp(static_cast<double>(one) - largest) / sum);
    }
    return {scores.shape(), std::move(weights)};
}

void add_rows(HeadSteps& steps, const std::vector<Piece>& pieces, std::int64_t head, Rows& device) {
    const ops::attention::Sizes sizes = ops::attention::sizes_of(pieces.front().call);
    Rows x, q, k, v;
    for (const Piece& piece : pieces)
        for (std::int64_t i = 0; i < piece.rows; ++i) {
            x.add(piece.x, i, piece.x.type.shape[-1]);
            q.add(piece.in[ops::attention::q_], i * sizes.heads + head, sizes.d);
            device.add(piece.out[ops::attention::o_], i * sizes.heads + head, sizes.dv);
        }
    const Piece& last = pieces.back();  // its cache holds all keys
    for (std::int64_t j = 0; j < last.keys; ++j) {
        k.add(last.in[ops::attention::k_], j * sizes.kv_heads + head / sizes.group(), sizes.d);
        v.add(last.in[ops::attention::v_], j * sizes.kv_heads + head / sizes.group(), sizes.dv);
    }
    steps.x = std::move(x).array(), steps.q = std::move(q).array();
    steps.k = std::move(k).array(), steps.v = std::move(v).array();
}

Array ruled_scores(const HeadSteps& steps, const std::vector<Piece>& pieces, std::int64_t head) {
    const std::int64_t m = steps.k.shape()[0];
    Rows all{.width = m, .values = {}};
    for (const Piece& piece : pieces) {
        const AttentionRules rules(piece.call.attrs);
        for (std::int64_t i = 0; i < piece.rows; ++i)
            for (std::int64_t j = 0; j < m; ++j) {
                const double scaled = dot(steps.q, piece.first + i, steps.k, j) * steps.scale;
                const auto score = j < piece.keys ? ruled_score(piece.call, piece.in, ops::attention::rule_operands,
                                                                ops::attention::sizes_of(piece.call).rules(), rules,
                                                                scaled, 0, 0, head, i, piece.first + i, j)
                                                  : std::nullopt;
                all.values.push_back(static_cast<float>(score.value_or(-infinity)));
            }
    }
    return std::move(all).array();
}

void check_output(HeadSteps& steps, const Array& device) {
    double largest = 0;
    for (const float value : steps.v) largest = std::max(largest, static_cast<double>(std::abs(value)));
    for (std::size_t i = 0; i < device.size(); ++i) {
        const double difference = static_cast<double>(std::abs(steps.output.values()[i] - device.values()[i]));
        if (!(difference <= steps.difference)) steps.difference = difference;  // NaN stays: nothing is below it
        if (std::isnan(difference)) break;
    }
    if (!(steps.difference <= allowed_difference * std::max(largest, 1e-3)))
        throw Error(
            ErrorKind::accuracy,
            format("attention steps: A V differs from the device's output by {:g}, where values are at most {:g}; run "
                   "`vantage conform --op attention`",
                   steps.difference, largest));
}

void check_head(const Model& model, const HeadId& head) {
    const ModelInfo& info = model.info();
    const std::int64_t heads = info.heads_of(head.kind);
    if (!info.attends(head.layer, head.kind) || head.head < 0 || head.head >= heads)
        throw usage_error("attention steps: {} has no head {}; it has {} with heads 0 … {}", info.name, name_of(head),
                          attending_text(info, head.kind), heads - 1);
}

}  // namespace

void require_steps(const Model& model) {
    require_attention(model.info(), "attention steps");
    if (config_of(model).recurrent)
        throw unsupported_error("attention steps: {} has an alignment, which is not shown in steps; inspect shows it",
                                model.info().name);
}

HeadSteps head_steps(const Model& model, SessionOptions options, const ReplayInput& input, const HeadId& head) {
    require_steps(model);
    check_head(model, head);
    options.record_attention = RecordAttention::all();  // as in sessions that are asked for weights
    const std::int64_t queries = std::ssize(head.kind == AttentionKind::encoder ? input.source : input.ids);
    std::vector<Piece> pieces;
    HeadSteps steps;
    std::int64_t done = 0;
    replay(model, options, input, [&](Plan& plan, std::int64_t) {
        const std::optional<int> node = attention_node(plan.graph(), head);
        if (!node) {
            plan.run();
            return true;
        }
        for (const Value& value : plan.graph().values())
            if (value.name == model_names::global_keys(head.layer))
                throw unsupported_error("attention steps: global tokens of {} have projections of their own",
                                        model.info().name);
        const Projection projection = projection_of(plan.graph(), at(plan.graph().nodes(), *node));
        steps.rotated = projection.rotated;
        pieces.push_back(run_piece(plan, *node, projection));
        return (done += pieces.back().rows) < queries;
    });
    if (pieces.empty() || pieces.front().call.attrs.flag("hard"))
        throw unsupported_error("attention steps: layer {} of {} has no softmax attention", head.layer,
                                model.info().name);
    const OpCall& call = pieces.front().call;
    Rows device;
    add_rows(steps, pieces, head.head, device);
    steps.scale = scale_of(call, ops::attention::q_);
    steps.plain_rules = !call.has(ops::attention::position_bias_) && !call.has(ops::attention::mask_) &&
                        !call.has(ops::attention::sinks_) && AttentionRules(call.attrs).softcap == 0;
    steps.scores = products(steps.q, steps.k);
    steps.ruled = ruled_scores(steps, pieces, head.head);
    steps.weights = softmax_rows(steps.ruled, call.has(ops::attention::sinks_)
                                                  ? pieces.front().in[ops::attention::sinks_][head.head]
                                                  : -infinity);
    Rows output{.width = steps.v.shape()[1], .values = {}};
    for (std::int64_t i = 0; i < steps.q.shape()[0]; ++i)
        for (std::int64_t d = 0; d < output.width; ++d) {
            double sum = 0;
            for (std::int64_t j = 0; j < steps.v.shape()[0]; ++j)
                sum += static_cast<double>(steps.weights(i, j)) * static_cast<double>(steps.v(j, d));
            output.values.push_back(static_cast<float>(sum));
        }
    steps.output = std::move(output).array();
    check_output(steps, std::move(device).array());
    return steps;
}

AttentionStages attention_stages(const HeadSteps& steps) {
    const auto weights = [&](const Array& scores) {
        std::vector<float> seen(scores.begin(), scores.end());
        for (std::size_t i = 0; i < seen.size(); ++i)
            if (std::isinf(steps.ruled.values()[i])) seen[i] = steps.ruled.values()[i];
        return softmax_rows({scores.shape(), std::move(seen)});
    };
    return {.raw = weights(products(steps.x, steps.x)),
            .metric = weights(products(steps.q, steps.q)),
            .matched = weights(steps.scores),
            .full = steps.weights};
}

}  // namespace vantage::internal
