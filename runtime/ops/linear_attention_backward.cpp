// The gradients of linear attention. With f = φ(q), g = φ(k), the denominator n_i = e^lse_i and
//   delta_i = dout_i · o_i - dlse_i,  a_i = (dout_i / n_i, -delta_i / n_i),  w_j = (v_j, 1)
// the gradient by the weight f_i · g_j is a_i · w_j, and over the pairs of which i sees j
//   dq_i = φ'(q_i) Σ_j (a_i · w_j) g_j,  dk_j = φ'(k_j) Σ_i (a_i · w_j) f_i,  dv_j = Σ_i (f_i · g_j) dout_i / n_i
// The states are Σ_j g_j w_jᵀ, so that their gradient G adds φ'(k_j) (G w_j) to dk_j and Gᵀ g_j to dv_j. As in the
// forward pass by chunks of 64 tokens: S = Σ g wᵀ from the first chunk on, and R = G + Σ f aᵀ from the last one back,
// O(n D Dv). Katharopoulos et al. 2020, section 3.3.1.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/checks.h"
#include "runtime/ops/linear_attention.h"
#include "shaders/params/linear_attention.h"

namespace vantage::internal::ops::linear_attention_backward {
namespace {

constexpr std::int64_t chunk_tokens = LinearAttentionSizes::chunk_tokens;

using Sizes = LinearAttentionSizes;
Sizes sizes_of(const OpCall& call) { return linear_attention_sizes(call, q_, v_); }
bool is_elu(const OpCall& call) { return call.attrs.text("feature", "elu+1") == "elu+1"; }
bool normalises(const OpCall& call) { return call.attrs.flag("normalise", true); }

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const TensorType &q = call.in(q_), &v = call.in(v_);
    call.require(q.shape.rank() == 3 || q.shape.rank() == 4, operand_is(call, q_) + ", but must be [n, heads, D]");
    Shape like_q = q.shape;
    like_q[-1] = v.shape[-1];
    for (const int i : {dout_, k_, o_, lse_}) static_cast<void>(call.in(i));
    require_type(call, k_, q);
    for (const int i : {dout_, v_, o_}) require_type(call, i, {like_q, q.dtype});
    const Sizes s = sizes_of(call);
    check_linear_attention_sizes(call, q_, v_);
    const bool batch = q.shape.rank() == 4;
    for (const int i : {lse_, dlse_})
        require_type(call, i, {Shape(q.shape.sizes().first(static_cast<std::size_t>(q.shape.rank() - 1))), DType::f32});
    require_type(call, dstate_kv_,
                 {batch ? Shape{s.batch, s.heads, s.d, s.dv} : Shape{s.heads, s.d, s.dv}, DType::f32});
    require_type(call, dstate_k_, {batch ? Shape{s.batch, s.heads, s.d} : Shape{s.heads, s.d}, DType::f32});
    return {q, q, v};
}

// A head, as lists of rows.
struct Rows {
    std::int64_t width;
    std::vector<double> data;
    double& at(std::int64_t row, std::int64_t column) { return internal::at(data, row * width + column); }
};
struct Head {
    Rows f, g, w, a;
};
Head head_of(const OpCall& call, std::span<const HostTensor> in, std::int64_t head) {
    const Sizes s = sizes_of(call);
    const auto make = [&](std::int64_t width, auto&& element) {
        Rows rows{width, std::vector<double>(static_cast<std::size_t>(s.n * width))};
        for (std::int64_t i = 0; i < s.n; ++i)
            for (std::int64_t c = 0; c < width; ++c) rows.at(i, c) = element(s.row(head, i), c);
        return rows;
    };
    const auto feature = [&](double x) { return !is_elu(call) ? x : x > 0 ? x + 1 : std::exp(x); };
    const auto by_weight = [&](std::int64_t row, std::int64_t e) {
        if (!normalises(call)) return e < s.dv ? in[dout_][row * s.dv + e] : 0;
        const double lse = in[lse_][row];
        if (lse == -std::numeric_limits<double>::infinity()) return 0.0;
        if (e < s.dv) return in[dout_][row * s.dv + e] * std::exp(-lse);
        double delta = call.has(dlse_) ? -in[dlse_][row] : 0;
        for (std::int64_t c = 0; c < s.dv; ++c) delta += in[dout_][row * s.dv + c] * in[o_][row * s.dv + c];
        return -delta * std::exp(-lse);
    };
    return {
        .f = make(s.d, [&](std::int64_t row, std::int64_t d) { return feature(in[q_][row * s.d + d]); }),
        .g = make(s.d, [&](std::int64_t row, std::int64_t d) { return feature(in[k_][row * s.d + d]); }),
        .w = make(s.dv + 1, [&](std::int64_t row, std::int64_t e) { return e < s.dv ? in[v_][row * s.dv + e] : 1; }),
        .a = make(s.dv + 1, by_weight)};
}
double dot(Rows& a, std::int64_t i, Rows& b, std::int64_t j) {
    double sum = 0;
    for (std::int64_t c = 0; c < a.width; ++c) sum += a.at(i, c) * b.at(j, c);
    return sum;
}

// By the definition, quadratic: that the sums by chunks agree is what the tests are for.
void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    const auto slope = [&](double x) { return !is_elu(call) || x > 0 ? 1 : std::exp(x); };
    for (std::int64_t head = 0; head < s.all_heads(); ++head) {
        auto [f, g, w, a] = head_of(call, in, head);
        for (std::int64_t j = 0; j < s.n; ++j) {
            const std::int64_t key = s.row(head, j);
            for (std::int64_t i = s.causal ? j : 0; i < s.n; ++i) {
                const std::int64_t row = s.row(head, i);
                const double by_weight = dot(a, i, w, j), weight = dot(f, i, g, j);
                for (std::int64_t d = 0; d < s.d; ++d) {
                    out[0][row * s.d + d] += by_weight * g.at(j, d) * slope(in[q_][row * s.d + d]);
                    out[1][key * s.d + d] += by_weight * f.at(i, d) * slope(in[k_][key * s.d + d]);
                }
                for (std::int64_t e = 0; e < s.dv; ++e) out[2][key * s.dv + e] += weight * a.at(i, e);
            }
            for (std::int64_t d = 0; d < s.d; ++d)
                for (std::int64_t e = 0; e <= s.dv; ++e) {
                    const std::int64_t cell = head * s.d + d;
                    const int state = e < s.dv ? dstate_kv_ : dstate_k_;
                    if (!call.has(state)) continue;
                    const double by_state = internal::at(in, state)[e < s.dv ? cell * s.dv + e : cell];
                    out[1][key * s.d + d] += by_state * w.at(j, e) * slope(in[k_][key * s.d + d]);
                    if (e < s.dv) out[2][key * s.dv + e] += by_state * g.at(j, d);
                }
        }
    }
}

// Two sums, and three products of a row with them.
Cost cost(const OpCall& call) {
    const Sizes s = sizes_of(call);
    const double rows = static_cast<double>(s.batch * s.heads * s.n), state = static_cast<double>(s.d * (s.dv + 1)),
                 near = s.causal ? 1.5 * chunk_tokens * static_cast<double>(s.d + s.dv) : 0;
    return streaming_cost(call, 2 * rows * (5 * state + near));
}

constexpr Operand stats{Operand::scratch, 0, Operand::reads}, sums{Operand::scratch, 1, Operand::reads_writes},
    sums_after{Operand::scratch, 2, Operand::reads_writes};

// Both kinds of kernels take the same numbers.
template <class Params>
Params params_of(const OpCall& call) {
    const Sizes s = sizes_of(call);
    Params all{};
    all.n = u32(s.n), all.batch = u32(s.batch), all.heads = u32(s.heads), all.d = u32(s.d), all.dv = u32(s.dv);
    all.chunks = u32(s.chunks()), all.causal = s.causal, all.heads_first = s.heads_first;
    return all;
}

// The sums of each chunk, as the forward pass makes them: of k and v, or of q and dout with the factors of each row.
Launch sums_of_chunks(const OpCall& call, const Caps& caps, bool after) {
    const Sizes s = sizes_of(call);
    Launch l{.shader = after ? "linear_attention_backward_sums" : "linear_attention_sums",
             .spec = params::LinearAttentionConstants{.lanes = workgroup_size(caps, 64),
                                                      .X_TYPE = storage_of(call, q_),
                                                      .FEATURE = is_elu(call) ? 1U : 0U,
                                                      .CHUNK = u32(chunk_tokens)},
             .operands = {in(q_), in(after ? q_ : k_), in(after ? dout_ : v_), scratch_out(after ? 2 : 1)},
             .groups = flat_grid(s.all_heads() * s.chunks(), caps)};
    if (after) l.operands.insert(l.operands.end(), {no_operand, stats});
    return l.with(params_of<params::LinearAttentionParams>(call));
}

Launch rows_of_result(const OpCall& call, const Caps& caps, int result) {
    const Sizes s = sizes_of(call);
    params::LinearAttentionBackwardConstants constants{.BY = u32(result), .TERMS = u32(result == 2 ? s.d : s.dv + 1)};
    constants.lanes = workgroup_size(caps, 64);
    constants.X_TYPE = storage_of(call, q_);
    constants.FEATURE = is_elu(call) ? 1 : 0;
    constants.CHUNK = u32(chunk_tokens);
    Launch l{.shader = "linear_attention_backward",
             .spec = constants,
             .operands = {in(q_), in(k_), in(v_), in(dout_), stats, scratch_in(result == 0 ? 1 : 2), out(result)},
             .groups = flat_grid(s.all_heads() * s.n, caps)};
    return l.with(params_of<params::LinearAttentionBackwardParams>(call));
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::uint32_t lanes = workgroup_size(caps, 64);
    const std::int64_t rows = s.all_heads() * s.n;
    const std::int64_t terms = std::max(s.d, s.dv + 1);
    require_loops(call, caps,
                  std::max({s.chunks(), chunk_tokens * ceil_div(s.d * (s.dv + 1), lanes),
                            terms * ceil_div(chunk_tokens, lanes) + (terms + chunk_tokens) * ceil_div(terms, lanes)}));
    LaunchPlan plan;
    const std::uint64_t cells = static_cast<std::uint64_t>(s.cells() * s.chunks()) * 4;
    plan.scratch = {static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 1)) * 8, cells, cells};
    Launch first{.shader = "linear_attention_backward_stats",
                 .spec =
                     params::LinearAttentionStatsConstants{
                         .lanes = lanes, .X_TYPE = storage_of(call, q_), .NORMALISE = normalises(call)},
                 .operands = {in(dout_), in(o_), in(lse_), in(dlse_), scratch_out(0)},
                 .groups = flat_grid(ceil_div(rows, lanes), caps)};
    Launch scan{.shader = "linear_attention_backward_scan",
                .spec = params::WorkgroupConstants{.lanes = lanes},
                .operands = {sums, sums_after, in(dstate_kv_), in(dstate_k_)},
                .groups = flat_grid(ceil_div(2 * s.cells(), lanes), caps)};
    plan.launches = {
        first.with(params::LinearAttentionStatsParams{.rows = u32(rows), .dv = u32(s.dv)}),
        sums_of_chunks(call, caps, false), sums_of_chunks(call, caps, true),
        scan.with(params::LinearAttentionBackwardScanParams{
            .cells = u32(s.cells()), .d = u32(s.d), .dv = u32(s.dv), .chunks = u32(s.chunks()), .causal = s.causal})};
    for (int result = 0; result < 3; ++result) plan.launches.push_back(rows_of_result(call, caps, result));
    return plan;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, const Shape& q, std::int64_t dv, const Attrs& attrs, bool all = false) {
        Shape v = q;
        v[-1] = dv;
        const bool batch = q.rank() == 4;
        const std::int64_t heads = q[attrs.flag("heads_first") ? -3 : -2], d = q[-1];
        const auto state = [&](bool outer) {
            std::vector<std::int64_t> sizes{heads, d};
            if (batch) sizes.insert(sizes.begin(), q[0]);
            if (outer) sizes.push_back(dv);
            return Case::Input{.type = only_if(all, TensorType{Shape(sizes)}), .fixed_type = true};
        };
        const TensorType per_row{Shape(q.sizes().first(static_cast<std::size_t>(q.rank() - 1)))};
        list.push_back({.name = name,
                        .attrs = attrs,
                        .inputs = {floats(v),
                                   floats(q),
                                   floats(q),
                                   floats(v),
                                   floats(v),
                                   {.type = per_row, .low = 3, .high = 0.5, .fixed_type = true},
                                   {.type = only_if(all, per_row), .fixed_type = true},
                                   state(true),
                                   state(false)}});
    };
    add("causal n=200, over chunks", {200, 2, 12}, 15, {{"causal", true}});
    add("causal n=128, whole chunks, all gradients", {128, 2, 12}, 15, {{"causal", true}}, true);
    add("full n=130, all gradients", {130, 3, 12}, 8, {}, true);
    add("batch, heads first, all gradients", {2, 2, 70, 12}, 8, {{"causal", true}, {"heads_first", true}}, true);
    add("made features", {65, 1, 12}, 15, {{"causal", true}, {"feature", "none"}});
    add("not normalised, all gradients", {70, 2, 12}, 15, {{"feature", "none"}, {"normalise", false}}, true);
    add("not normalised, causal", {2, 2, 70, 12}, 8, {{"causal", true}, {"heads_first", true}, {"normalise", false}});
    add("one token, more features than lanes", {1, 1, 70}, 67, {{"causal", true}});
    add("rows without a denominator", {2, 1, 4}, 3, {{"causal", true}});
    list.back().inputs[lse_] =
        filled_with(TensorType{Shape{2, 1}}, std::vector<double>(2, -std::numeric_limits<double>::infinity()));
    list.back().inputs[lse_].fixed_type = true;
    add("no tokens", {0, 2, 12}, 8, {}, true);
    return list;
}

}  // namespace

const OpDef linear_attention_backward_op = define_op(
    "linear_attention_backward",
    "dq, dk and dv of linear_attention, by sums over chunks forwards and back (Katharopoulos et al. 2020)",
    operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);

}  // namespace vantage::internal::ops::linear_attention_backward
