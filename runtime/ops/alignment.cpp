// The attention of a recurrent decoder to its source, which is of any width and has any score.
//   dot: s_ij = q_i·k_j (Luong, Pham, Manning 2015)
//   additive: s_ij = w·tanh(q_i + k_j) (Bahdanau, Cho, Bengio 2014)
//   lse_i = ln Σ_j exp s_ij,  c_i = Σ_j exp(s_ij - lse_i) v_j
// over the keys that the sequence of the query has: kv_len of them. Projections of queries and keys are made before.
// Scores are a result: the tap makes weights from them, whatever the score.
#include "runtime/ops/alignment.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/format.h"
#include "runtime/ops/additive_attention.h"
#include "runtime/ops/column_sums.h"
#include "runtime/ops/softmax_backward.h"
#include "runtime/ops/step.h"
#include "shaders/params/alignment.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::alignment {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

struct Sizes {
    std::int64_t lanes, rows, keys, width, features;
};
Sizes sizes_of(const OpCall& call) {
    return {.lanes = sequences_of(call, step_),
            .rows = rows_of_each(call, q_, step_),
            .keys = rows_of_each(call, k_, step_),
            .width = call.in(q_).shape[1],
            .features = call.in(v_).shape[1]};
}

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &q = call.in(q_), &k = call.in(k_), &v = call.in(v_);
    for (const int i : {q_, k_, v_})
        call.require(call.in(i).shape.rank() == 2 && is_float(call.in(i).dtype),
                     operand_is(call, i) + ", but must be floats [rows, features]");
    require_step(call, step_);
    call.require(k.shape[1] == q.shape[1], operand_is(call, k_) + ", but q is " + q.text());
    call.require(v.shape[0] == k.shape[0] && v.dtype == k.dtype, operand_is(call, v_) + ", but k is " + k.text());
    if (call.has(w_))
        call.require(call.in(w_).shape == Shape{q.shape[1]} && is_float(call.in(w_).dtype),
                     operand_is(call, w_) + ", but q is " + q.text());
    const Sizes s = sizes_of(call);
    require_type(call, kv_len_, {Shape{s.lanes}, DType::i32});
    const std::int64_t n = q.shape[0];
    return {{Shape{n, s.features}, DType::f32}, {Shape{n, s.keys}, DType::f32}, {Shape{n}, DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    for (std::int64_t row = 0; row < s.lanes * s.rows; ++row) {
        const std::int64_t sequence = call.has(step_) ? sequence_of(in[step_], row / s.rows) : 0;
        const auto length = call.has(kv_len_) ? static_cast<std::int64_t>(in[kv_len_][sequence]) : s.keys;
        const std::int64_t visible = std::clamp<std::int64_t>(length, 0, s.keys), first = sequence * s.keys;
        double largest = minus_infinity, sum = 0;
        for (std::int64_t j = 0; j < s.keys; ++j) {
            double score = j < visible ? 0 : minus_infinity;
            for (std::int64_t a = 0; j < visible && a < s.width; ++a) {
                const double q = in[q_][row * s.width + a], k = in[k_][(first + j) * s.width + a];
                score += call.has(w_) ? in[w_][a] * std::tanh(q + k) : q * k;
            }
            out[s_][row * s.keys + j] = score;
            largest = std::max(largest, score);
        }
        for (std::int64_t j = 0; j < visible; ++j) sum += std::exp(out[s_][row * s.keys + j] - largest);
        out[lse_][row] = visible > 0 ? largest + std::log(sum) : minus_infinity;
        for (std::int64_t e = 0; e < s.features; ++e)
            for (std::int64_t j = 0; j < visible; ++j)
                out[c_][row * s.features + e] +=
                    std::exp(out[s_][row * s.keys + j] - out[lse_][row]) * in[v_][(first + j) * s.features + e];
    }
}

// The gradient of the scores: ds = p (dc·v - Σ p dc·v) + p dlse, and their own. p, a matrix as the scores are, is made
// of them; it is 0, and so is ds, where a key is not seen.
Tensor gradient_by_scores(const GradientCall& g, const Tensor& p) {
    const Tensor &dc = g.gradients[c_], &dlse = g.gradients[lse_];
    Graph graph = p.graph();
    Tensor ds = g.gradients[s_];
    const auto add_part = [&](const Tensor& part) { ds = ds ? vantage::add(ds, part, g.where) : part; };
    if (dc) {
        const Tensor dp = vantage::matmul(dc, g.inputs[v_], {.transpose_b = true}, {}, {}, g.where);
        add_part(internal::softmax_backward(dp, p, "softmax", -1, 1, g.where));
    }
    if (dlse) {
        const std::int64_t rows = p.shape()[0], keys = p.shape()[1];
        const Tensor ones = graph.constant(
            format("ones {}", keys), {1, keys},
            [keys] { return std::vector<float>(static_cast<std::size_t>(keys), 1); }, g.where);
        add_part(vantage::mul(p, vantage::matmul(graph.reshape(dlse, {rows, 1}, g.where), ones, {}, {}, {}, g.where),
                              g.where));
    }
    return ds;
}

std::vector<Tensor> gradient(const GradientCall& g) {
    const Tensor &q = g.inputs[q_], &k = g.inputs[k_], &w = g.inputs[w_], &dc = g.gradients[c_];
    g.call.require(!g.call.has(step_), of_a_state);
    g.call.require(!g.gradients[s_] || !g.call.has(kv_len_), "scores of keys behind kv_len have no gradient");
    if (g.outputs[s_].shape().elements() == 0) return {};  // no pairs
    const Tensor p = vantage::softmax(g.outputs[s_], -1, 1, g.where), ds = gradient_by_scores(g, p);
    std::vector<Tensor> result(w_ + 1);
    if (dc) result[v_] = vantage::matmul(p, dc, {.transpose_a = true}, {}, {}, g.where);
    if (!w) {
        result[q_] = vantage::matmul(ds, k, {}, {}, {}, g.where);
        result[k_] = vantage::matmul(ds, q, {.transpose_a = true}, {}, {}, g.where);
        return result;
    }
    const std::vector<Tensor> made = add_call(q.graph(), additive_scores_backward_op, {ds, q, k, w}, {}, g.where);
    result[q_] = made[0], result[k_] = made[1];
    if (g.needed[w_]) result[w_] = internal::column_sums(made[2], {}, {}, {}, g.where);
    return result;
}

// A tanh counts 10 operations, as in additive_scores.
Cost cost(const OpCall& call) {
    const Sizes s = sizes_of(call);
    const auto pairs = static_cast<double>(s.lanes * s.rows * s.keys);
    const double score = static_cast<double>(s.width) * (call.has(w_) ? 12 : 2);
    return streaming_cost(call, pairs * (score + 2 * static_cast<double>(s.features) + 4));
}

template <ShaderName scores, ShaderName contexts>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::uint32_t lanes = workgroup_size(caps, 64);
    require_loops(call, caps, ceil_div(s.features, lanes) * s.keys + 2 * ceil_div(s.keys, lanes));
    const params::AlignmentParams all{.lanes = u32(s.lanes),
                                      .rows = u32(s.rows),
                                      .keys = u32(s.keys),
                                      .width = u32(s.width),
                                      .features = u32(s.features)};
    const std::vector<std::uint32_t> spec = params::AlignmentConstants{.lanes = lanes,
                                                                       .Q_TYPE = storage_of(call, q_),
                                                                       .KV_TYPE = storage_of(call, k_),
                                                                       .W_TYPE = storage_of(call, w_),
                                                                       .STEP = step_of(s.width),
                                                                       .ADDITIVE = call.has(w_)};
    Launch first{.shader = scores, .spec = spec, .groups = flat_grid(s.lanes * s.rows * s.keys, caps)};
    first.operands = {in(q_), in(k_), in(v_), in(w_), in(step_), in(kv_len_), out(c_), out(s_), out(lse_)};
    Launch second{
        .shader = contexts, .spec = spec, .operands = first.operands, .groups = flat_grid(s.lanes * s.rows, caps)};
    second.operands[7] = update(s_);
    LaunchPlan plan;
    plan.launches = {first.with(all), second.with(all)};
    return plan;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, std::int64_t n, std::int64_t keys, std::int64_t width, std::int64_t features,
                         bool additive, const Case::Input& step = {}, const std::vector<double>& lengths = {}) {
        const Case::Input w{.type = only_if(additive, TensorType{Shape{width}}), .weight = true},
            kv_len = lengths.empty() ? Case::Input{} : list_of(DType::i32, lengths);
        list.push_back({.name = name,
                        .inputs = {{.type = TensorType{Shape{n, width}}, .high = 0.5},
                                   floats({keys, width}),
                                   floats({keys, features}),
                                   w,
                                   step,
                                   kv_len}});
    };
    const Case::Input steps = steps_of_case({step_of_case(4, 2), step_of_case(0, 0), step_of_case(9, 4)});
    add("dot, 3 by 17 of 12", 3, 17, 12, 20, false);
    add("additive, 3 by 17 of 33, 2 features", 3, 17, 33, 2, true);
    add("dot, one query, more features than lanes", 1, 70, 300, 270, false, step_of_case(5, 1), {61});
    add("additive, 3 sequences of 4 rows, keys 5, 0 and 9 of 9", 12, 27, 12, 7, true, steps, {5, 0, 9});
    add("dot, the same in reverse", 12, 27, 12, 7, false, reversed_lanes(steps), {5, 0, 9});
    add("dot, keys 11 of 17", 3, 17, 12, 5, false, {}, {11});
    add("no keys", 2, 0, 8, 4, false);
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"subgroup", need_subgroup, every_call, launch<"alignment_scores_subgroup", "alignment_contexts_subgroup">},
    {"plain", need_nothing, every_call, launch<"alignment_scores", "alignment_contexts">}};

const OpDef alignment_op = define_op(
    "alignment", "c_i = sum_j exp(s_ij - lse_i) v_j, s_ij = q_i k_j or w tanh(q_i + k_j) (Bahdanau 2014, Luong 2015)",
    operand_names, infer, reference, cost, kernels, cases, gradient, {.step = step_, .context_rows = {k_, v_}});

}  // namespace internal::ops::alignment

AlignmentResult alignment(Tensor q, Tensor k, Tensor v, Tensor w, AlignmentOptions options, SourceLocation where) {
    const std::vector<Tensor> results =
        add_call(q.graph(), alignment_op, {q, k, v, w, options.step, options.kv_len}, {}, where);
    return {.context = results[ops::alignment::c_],
            .scores = results[ops::alignment::s_],
            .lse = results[ops::alignment::lse_]};
}

}  // namespace vantage
