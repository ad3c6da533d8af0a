// Attention weights by distance, from the q, k and lse of the flash kernel:
//   w_ir = Σ_j p_ij over the keys with clamp(j - i, -reach, reach) + reach = r,  p_ij = exp(s_ij - lse_i)
// What relative values weigh: Σ_j p_ij (v_j + a_ij) = o_i + Σ_r w_ir a_r. No matrix of weights is held.
// Shaw, Uszkoreit, Vaswani, "Self-Attention with Relative Position Representations" (2018).
#include "runtime/ops/distance_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/format.h"
#include "runtime/ops/attention_backward.h"
#include "runtime/ops/attention_rules.h"
#include "runtime/ops/checks.h"
#include "shaders/params/distance_weights.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::distance_weights {
namespace {

constexpr RuleOperands rule_operands{
    .mask = mask_, .position_bias = position_bias_, .block_mask = block_mask_, .segments = segments_};

RuleSizes sizes_of(const OpCall& call) { return recorded_sizes(call.in(q_).shape, call.in(k_).shape); }

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &q = call.in(q_), &k = call.in(k_);
    for (int i : {q_, k_})
        call.require(is_float(call.in(i).dtype), operand_is(call, i) + ", but must be f32, f16 or bf16");
    check_recorded(call, q, k, lse_);
    check_rule_operands(call, rule_operands, sizes_of(call), AttentionRules(call.attrs));
    return {{Shape{q.shape[0], q.shape[1], 2 * reach_of(call) + 1}, q.dtype}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const RuleSizes s = sizes_of(call);
    const AttentionRules rules(call.attrs);
    const std::int64_t reach = reach_of(call), width = call.in(q_).shape[2];
    for (std::int64_t row = 0; row < s.n; ++row)
        for (std::int64_t head = 0; head < s.heads; ++head)
            for (std::int64_t key = 0; key < s.m; ++key) {
                const std::int64_t i = row + s.m - s.n, q_row = row * s.heads + head,
                                   k_row = key * s.kv_heads + head / (s.heads / s.kv_heads);
                double dot = 0;
                for (std::int64_t d = 0; d < width; ++d)
                    dot +=
                        score_part(rules, in, rule_operands, d, in[q_][q_row * width + d], in[k_][k_row * width + d]);
                const auto score =
                    ruled_score(call, in, rule_operands, s, rules, scale_of(call, q_) * dot, 0, 0, head, row, i, key);
                const double lse = in[lse_][q_row];
                if (!score || lse == -std::numeric_limits<double>::infinity()) continue;  // NaN stays
                const std::int64_t r = std::clamp(key - i, -reach, reach) + reach;
                out[0][q_row * (2 * reach + 1) + r] += std::exp(*score - lse);
            }
}

// lse is an operand of its own here: ∂w_ir / ∂lse_i = -w_ir. What attention makes of its gradient is attention's rule.
Tensor gradient_by_lse(const GradientCall& g) {
    const Tensor &dw = g.gradients[0], &lse = g.inputs[lse_];
    Graph graph = lse.graph();
    const std::int64_t distances = dw.shape()[2], rows = lse.shape().elements();
    const Tensor products = graph.reshape(mul(dw, g.outputs[0], g.where), {rows, distances}, g.where),
                 ones = graph.constant(
                     format("ones {}", distances), {1, distances},
                     [distances] { return std::vector<float>(static_cast<std::size_t>(distances), 1); }, g.where);
    // a product has the storage type of its first factor: f32
    const MatmulOptions minus{.transpose_b = true, .alpha = -1};
    return graph.reshape(vantage::matmul(ones, products, minus, {}, {}, g.where), lse.shape(), g.where);
}

std::vector<Tensor> gradient(const GradientCall& g) {
    g.call.require(!g.needed[mask_],
                   "a mask has no gradient: it would be as large as the mask; learn a bias by position");
    Attrs attrs = g.call.attrs;
    if (g.needed[position_bias_]) attrs.set("bias_gradient", true);
    std::vector<Tensor> operands{g.gradients[0]}, result(position_bias_ + 1);
    operands.insert(operands.end(), g.inputs.begin(), g.inputs.end());
    const std::vector<Tensor> made =
        add_call(g.inputs[q_].graph(), distance_weights_backward_op, operands, attrs, g.where);
    result[q_] = made[0], result[k_] = made[1];
    if (g.needed[lse_]) result[lse_] = gradient_by_lse(g);
    if (g.needed[position_bias_])
        result[position_bias_] =
            bias_gradient(AttentionRules(attrs), g.inputs[position_bias_], std::span(made).subspan(2), g.where);
    return result;
}

Cost cost(const OpCall& call) {
    const RuleSizes s = sizes_of(call);
    return streaming_cost(call,
                          2.0 * static_cast<double>(s.n * s.heads * call.in(q_).shape[2]) * static_cast<double>(s.m));
}

RowTeam few_lanes(const Caps& caps) { return {workgroup_size(caps, 64)}; }

template <ShaderName shader, auto team_of = few_lanes>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const RuleSizes s = sizes_of(call);
    const std::int64_t width = call.in(q_).shape[2], reach = reach_of(call);
    const std::uint32_t lanes = team_of(caps).lanes;
    require_loops(call, caps, (ceil_div(s.m, lanes) + ceil_div(2 * reach, lanes)) * (width / step_of(width) + 1));
    params::AttentionWeightsConstants constants{.lanes = lanes,
                                                .Q_TYPE = storage_of(call.in(q_).dtype),
                                                .K_TYPE = storage_of(call.in(k_).dtype),
                                                .STEP = step_of(width)};
    set_rules(constants, call, rule_operands);
    Launch l{
        .shader = shader,
        .spec = constants,
        .operands = {in(q_), in(k_), in(lse_), in(mask_), in(position_bias_), in(block_mask_), in(segments_), out(0)},
        .groups = flat_grid(s.n * s.heads, caps)};
    return l.with(params::DistanceWeightsParams{.n = u32(s.n),
                                                .m = u32(s.m),
                                                .heads = u32(s.heads),
                                                .kv_heads = u32(s.kv_heads),
                                                .d = u32(width),
                                                .causal = call.attrs.flag("causal"),
                                                .reach = u32(reach),
                                                .scale = static_cast<float>(scale_of(call, q_))});
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, std::int64_t n, std::int64_t m, std::int64_t reach, Attrs attrs) {
        attrs.set("largest_distance", reach);
        // lse large enough that weights stay below 1
        list.push_back({.name = name,
                        .attrs = std::move(attrs),
                        .inputs = {floats({n, 4, 24}),
                                   floats({m, 2, 24}),
                                   {.type = TensorType{Shape{n, 4}}, .low = 5, .high = 0.5, .fixed_type = true}}});
        list.back().inputs.resize(segments_ + 1);
    };
    add("causal", 70, 70, 5, {{"causal", true}});
    add("both ways, more keys than queries", 30, 150, 9, {});
    add("all at one distance", 12, 20, 0, {});
    add("before, itself and after", 12, 20, 1, {{"scale", 0.1}});
    add("further than the keys reach", 12, 20, 40, {{"causal", true}});
    add("more queries than keys, window", 20, 12, 3, {{"causal", true}, {"window_left", 4}});
    add("no keys", 3, 0, 2, {});
    add("no queries", 0, 5, 2, {});
    add("relative keys and queries", 12, 20, 5, {{"position_bias", "relative_both"}, {"reach", 3}});
    list.back().inputs[position_bias_] = {.type = TensorType{Shape{7 * (12 * 4 + 20 * 2)}}, .fixed_type = true};
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"one_subgroup", need_subgroup, on_cpu, launch<"distance_weights_one_subgroup", one_subgroup>},
    {"subgroup", need_subgroup, every_call, launch<"distance_weights_subgroup">},
    {"plain", need_nothing, every_call, launch<"distance_weights">}};

const OpDef distance_weights_op = define_op(
    "distance_weights", "w_ir = sum of p_ij = exp(s_ij - lse_i) over the keys at distance r = j - i (Shaw et al. 2018)",
    operand_names, infer, reference, cost, kernels, cases, gradient);

}  // namespace internal::ops::distance_weights

std::int64_t internal::reach_of(const OpCall& call) {
    const std::int64_t reach = call.attrs.integer("largest_distance");
    call.require(reach >= 0 && reach <= std::int64_t{1} << 24,
                 format("largest_distance is {}, but must be between 0 and 2^24", reach));
    return reach;
}

Tensor distance_weights(Tensor q, Tensor k, Tensor lse, std::int64_t reach, const AttentionOptions& options,
                        SourceLocation where) {
    if (options.hard || options.heads_first || options.kv_len)
        throw Error(ErrorKind::usage, "distance_weights: hard attention, heads_first and kv_len are not supported",
                    where);
    Attrs attrs = rule_attrs(options);
    attrs.set("largest_distance", reach);
    return add_call(
        q.graph(), distance_weights_op,
        {q, k, lse, options.mask, position_bias_of(options, q, k, where), options.block_mask, options.segment_ids},
        attrs, where)[0];
}

}  // namespace vantage
