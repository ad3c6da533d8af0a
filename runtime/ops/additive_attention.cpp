// Additive (Bahdanau, Cho, Bengio 2014) and multiplicative attention (Luong, Pham, Manning 2015).
//   additive: s_ij = w·tanh(W_q q_i + W_k k_j + b)      dot: s_ij = q_i·k_j      general: s_ij = q_iᵀ W k_j
//   p = softmax(s) over keys,  context_i = Σ_j p_ij v_j
// The additive scores of projected queries and keys are an op of their own; the rest is composed of matmul and softmax.
#include "runtime/ops/additive_attention.h"

#include <cmath>

#include "runtime/ops/checks.h"
#include "runtime/ops/column_sums.h"
#include "shaders/params/additive_scores.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal {
namespace {

struct AdditiveSizes {
    std::int64_t batch, n, m, width;
};
AdditiveSizes additive_sizes(const Shape& q, const Shape& k) { return {q.rank() == 3 ? q[0] : 1, q[-2], k[-2], q[-1]}; }

}  // namespace
}  // namespace internal

namespace internal::ops::additive_scores {
namespace {

AdditiveSizes sizes_of(const OpCall& call) { return additive_sizes(call.in(q_).shape, call.in(k_).shape); }

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    call.require(call.has(w_), "w is missing");
    const TensorType &q = call.in(q_), &k = call.in(k_);
    call.require(q.shape.rank() == 2 || q.shape.rank() == 3,
                 operand_is(call, q_) + ", but must be [(batch,) n, width]");
    Shape like_q = q.shape;
    like_q[-2] = k.shape.rank() == q.shape.rank() ? k.shape[-2] : 0;
    call.require(k.shape == like_q && k.dtype == q.dtype, operand_is(call, k_) + ", but q is " + q.text());
    call.require(call.in(w_).shape == Shape{q.shape[-1]}, operand_is(call, w_) + ", but q is " + q.text());
    Shape scores = q.shape;
    scores[-1] = k.shape[-2];
    return {{scores, DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const AdditiveSizes s = sizes_of(call);
    for (std::int64_t row = 0; row < s.batch * s.n; ++row)
        for (std::int64_t j = 0; j < s.m; ++j) {
            const std::int64_t key = row / s.n * s.m + j;
            double score = 0;
            for (std::int64_t a = 0; a < s.width; ++a)
                score += in[w_][a] * std::tanh(in[q_][row * s.width + a] + in[k_][key * s.width + a]);
            out[0][row * s.m + j] = score;
        }
}

// The gradient of w is summed over all rows, those of each row by its keys.
std::vector<Tensor> gradient(const GradientCall& g) {
    const Tensor &q = g.inputs[q_], &k = g.inputs[k_], &w = g.inputs[w_];
    const std::vector<Tensor> made =
        add_call(q.graph(), additive_scores_backward_op, {g.gradients[0], q, k, w}, {}, g.where);
    return {made[0], made[1], g.needed[w_] ? internal::column_sums(made[2], {}, {}, {}, g.where) : Tensor()};
}

Cost cost(const OpCall& call) {
    const AdditiveSizes s = sizes_of(call);
    return streaming_cost(call, 12.0 * static_cast<double>(s.batch * s.n) * static_cast<double>(s.m * s.width));
}

Launch base_launch(const OpCall& call, const char* shader, std::uint32_t lanes) {
    const AdditiveSizes s = sizes_of(call);
    Launch l{.shader = shader,
             .spec =
                 params::AdditiveScoresConstants{
                     .lanes = lanes, .X_TYPE = storage_of(call, q_), .W_TYPE = storage_of(call, w_)},
             .operands = {in(q_), in(k_), in(w_), out(0)}};
    return l.with(
        params::AdditiveScoresParams{.batch = u32(s.batch), .n = u32(s.n), .m = u32(s.m), .width = u32(s.width)});
}

LaunchPlan launch_tiled(const OpCall& call, const Caps&) {
    const AdditiveSizes s = sizes_of(call);
    Launch l = base_launch(call, "additive_scores_tiled", 256);
    l.groups = {std::max(1u, ceil_div(s.m, 16)), std::max(1u, ceil_div(s.n, 16)), std::max(1u, u32(s.batch))};
    return l;
}

bool fits_tiled(const OpCall& call, const Caps& caps) {
    const AdditiveSizes s = sizes_of(call);
    const std::array<std::uint32_t, 3> maximum = caps.max_workgroup_count;
    return workgroup_size(caps) == 256 && s.batch > 0 && ceil_div(s.m, 16) <= maximum[0] &&
           ceil_div(s.n, 16) <= maximum[1] && s.batch <= maximum[2];
}

LaunchPlan launch_plain(const OpCall& call, const Caps& caps) {
    Launch l = base_launch(call, "additive_scores_plain", workgroup_size(caps));
    l.groups = element_grid(call.out(0).shape.elements(), 1, caps);
    return l;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, Shape q, std::int64_t m) {
        Shape k = q;
        k[-2] = m;
        list.push_back({.name = name, .inputs = {floats(q), floats(k), floats({q[-1]})}});
    };
    add("2x4 by 7 of 9", {2, 4, 9}, 7);
    add("33 by 17 of 40", {33, 40}, 17);
    add("one", {1, 1, 1}, 1);
    add("no keys", {1, 3, 8}, 0);
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"tiled", need_nothing, fits_tiled, launch_tiled, loads_by_lane},  // plain: 1.3 times as fast
    {"plain", need_nothing, every_call, launch_plain}};

const OpDef additive_scores_op =
    define_op("additive_scores", "s_ij = sum_a w_a tanh(q_ia + k_ja) (Bahdanau, Cho, Bengio 2014)", operand_names,
              infer, reference, cost, kernels, cases, gradient);

}  // namespace internal::ops::additive_scores

namespace internal::ops::additive_scores_backward {
namespace {

AdditiveSizes sizes_of(const OpCall& call) { return additive_sizes(call.in(q_).shape, call.in(k_).shape); }

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const TensorType &q = call.in(q_), &k = call.in(k_);
    for (const int i : {q_, k_})
        call.require(call.in(i).shape.rank() == 2 || call.in(i).shape.rank() == 3,
                     operand_is(call, i) + ", but must be [(batch,) rows, width]");
    require_shape(call, w_, {q.shape[-1]});
    Shape scores = q.shape, keys = q.shape;
    scores[-1] = keys[-2] = k.shape[-2];
    require_type(call, k_, {keys, q.dtype});
    static_cast<void>(call.in(ds_));
    require_type(call, ds_, {scores, DType::f32});
    const AdditiveSizes s = sizes_of(call);
    return {{q.shape, DType::f32}, {k.shape, DType::f32}, {Shape{s.batch * s.n, s.width}, DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const AdditiveSizes s = sizes_of(call);
    for (std::int64_t row = 0; row < s.batch * s.n; ++row)
        for (std::int64_t j = 0; j < s.m; ++j)
            for (std::int64_t a = 0; a < s.width; ++a) {
                const std::int64_t q = row * s.width + a, k = (row / s.n * s.m + j) * s.width + a;
                const double ds = in[ds_][row * s.m + j], t = std::tanh(in[q_][q] + in[k_][k]),
                             dx = ds * in[w_][a] * (1 - t * t);
                out[0][q] += dx;
                out[1][k] += dx;
                out[2][q] += ds * t;
            }
}

Cost cost(const OpCall& call) {
    const AdditiveSizes s = sizes_of(call);
    return streaming_cost(call, 28.0 * static_cast<double>(s.batch * s.n) * static_cast<double>(s.m * s.width));
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const AdditiveSizes s = sizes_of(call);
    require_loops(call, caps, std::max(s.n, s.m));
    LaunchPlan plan;
    for (const bool keys : {false, true}) {
        Launch l{.shader = "additive_scores_backward",
                 .spec = params::AdditiveBackwardConstants{.lanes = workgroup_size(caps),
                                                           .X_TYPE = storage_of(call, q_),
                                                           .W_TYPE = storage_of(call, w_),
                                                           .KEYS = keys},
                 .operands = {in(ds_), in(q_), in(k_), in(w_), out(0), out(1), out(2)},
                 .groups = element_grid(s.batch * (keys ? s.m : s.n) * s.width, 1, caps)};
        plan.launches.push_back(l.with(params::AdditiveBackwardParams{
            .batch = u32(s.batch), .n = u32(s.n), .m = u32(s.m), .width = u32(s.width)}));
    }
    return plan;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, Shape q, std::int64_t m) {
        Shape k = q, scores = q;
        k[-2] = scores[-1] = m;
        Case::Input ds = floats(scores);
        ds.fixed_type = true;
        list.push_back({.name = name, .inputs = {ds, floats(q), floats(k), floats({q[-1]})}});
    };
    add("2x4 by 7 of 9", {2, 4, 9}, 7);
    add("33 by 17 of 40", {33, 40}, 17);
    add("one", {1, 1, 1}, 1);
    add("no keys", {1, 3, 8}, 0);
    return list;
}

}  // namespace

const OpDef additive_scores_backward_op = define_op(
    "additive_scores_backward", "dq, dk, and dw of each row, of s_ij = sum_a w_a tanh(q_ia + k_ja)", operand_names,
    infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);

}  // namespace internal::ops::additive_scores_backward

Tensor additive_scores(Tensor q, Tensor k, Tensor w, SourceLocation where) {
    return add_call(q.graph(), additive_scores_op, {q, k, w}, {}, where)[0];
}

namespace {
ContextResult context_of(Tensor scores, Tensor values, SourceLocation where) {
    const Tensor p = softmax(scores, -1, 1, where);
    return {matmul(p, values, {}, {}, {}, where), p, scores};
}
}  // namespace

ContextResult additive_attention(Tensor q, Tensor k, Tensor v, AdditiveWeights weights, SourceLocation where) {
    return context_of(additive_scores(linear_transposed(q, weights.query, {}, where),
                                      linear_transposed(k, weights.key, weights.bias, where), weights.score, where),
                      v, where);
}

ContextResult luong_attention(Tensor q, Tensor k, Tensor v, Tensor weight, SourceLocation where) {
    const Tensor asked = weight ? linear(q, weight, {}, where) : q;
    return context_of(matmul(asked, k, {.transpose_b = true}, {}, {}, where), v, where);
}

}  // namespace vantage
