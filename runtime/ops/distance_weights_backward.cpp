// The gradients of attention weights by distance. With p_ij = exp(s_ij - lse_i) made again, r the distance of j and i,
// and s, c and t as in attention_backward:
//   ds_ij = p_ij dw_ir,  dt = ds (1 - (c / softcap)²),  dq_i = scale Σ_j dt k_j,  dk_j = scale Σ_i dt q_i
// It is attention_backward with dw_ir in place of dout_i · v_j - delta_i, and has the same shader.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/format.h"
#include "runtime/ops/attention_backward.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/distance_weights.h"
#include "shaders/params/attention_backward.h"

namespace vantage::internal::ops::distance_weights_backward {
namespace {

constexpr RuleOperands rule_operands{
    .mask = mask_, .position_bias = position_bias_, .block_mask = block_mask_, .segments = segments_};

RuleSizes sizes_of(const OpCall& call) { return recorded_sizes(call.in(q_).shape, call.in(k_).shape); }
BiasSums sums_of(const OpCall& call) { return bias_sums(call, position_bias_, sizes_of(call)); }

// dq, dk, then as there are: sums of rows, sums of keys for the bias.
std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &q = call.in(q_), &k = call.in(k_);
    for (const int i : {dw_, q_, k_})
        call.require(is_float(call.in(i).dtype), operand_is(call, i) + ", but must be f32, f16 or bf16");
    static_cast<void>(call.in(lse_));
    check_recorded(call, q, k, lse_);
    check_rule_operands(call, rule_operands, sizes_of(call), AttentionRules(call.attrs));
    require_type(call, dw_, {Shape{q.shape[0], q.shape[1], 2 * reach_of(call) + 1}, q.dtype});
    std::vector<TensorType> results{q, k};
    for (const TensorType& type : sums_of(call).types(sizes_of(call))) results.push_back(type);
    return results;
}

// ds and dt of a pair; both are 0 where it does not see each other.
struct Slopes {
    double ds = 0, dt = 0;
};
Slopes slopes_of(const OpCall& call, std::span<const HostTensor> in, const AttentionRules& rules, std::int64_t h,
                 std::int64_t row, std::int64_t key) {
    const RuleSizes s = sizes_of(call);
    const std::int64_t i = row + s.m - s.n, q_row = row * s.heads + h, reach = reach_of(call),
                       k_row = key * s.kv_heads + h / (s.heads / s.kv_heads);
    double t = 0;
    for (std::int64_t d = 0; d < s.width; ++d)
        t += scale_of(call, q_) *
             score_part(rules, in, rule_operands, d, in[q_][q_row * s.width + d], in[k_][k_row * s.width + d]);
    const auto score = ruled_score(call, in, rule_operands, s, rules, t, 0, 0, h, row, i, key);
    const double lse = in[lse_][q_row], bent = rules.softcap > 0 ? std::tanh(t / rules.softcap) : 0;
    if (!score || lse == -std::numeric_limits<double>::infinity()) return {};
    const std::int64_t r = std::clamp(key - i, -reach, reach) + reach;
    const double ds = std::exp(*score - lse) * in[dw_][q_row * (2 * reach + 1) + r];
    return {ds, ds * (1 - bent * bent)};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const RuleSizes s = sizes_of(call);
    const AttentionRules rules(call.attrs);
    const BiasSums sums = sums_of(call);
    const double scale = scale_of(call, q_);
    for (std::int64_t h = 0; h < s.heads; ++h)
        for (std::int64_t row = 0; row < s.n; ++row)
            for (std::int64_t key = 0; key < s.m; ++key) {
                const auto [ds, dt] = slopes_of(call, in, rules, h, row, key);
                for (std::int64_t d = 0; d < s.width; ++d) {
                    const std::int64_t of_q = (row * s.heads + h) * s.width + d,
                                       of_k = (key * s.kv_heads + h / (s.heads / s.kv_heads)) * s.width + d;
                    const double q = in[q_][of_q], k = in[k_][of_k], f = rules.is_additive() ? std::tanh(q + k) : 0,
                                 bent = rules.is_additive() ? in[position_bias_][d] * (1 - f * f) : 0;
                    out[0][of_q] += dt * (rules.is_additive() ? bent : scale * k);
                    out[1][of_k] += dt * (rules.is_additive() ? bent : scale * q);
                    if (rules.is_additive() && sums.of_row > 0) out[2][of_q] += dt * f;
                }
                if (!rules.is_additive()) sums.add(rules, s, {0, h, row, key, ds}, out.subspan(2));
            }
}

Cost cost(const OpCall& call) {
    const RuleSizes s = sizes_of(call);
    return streaming_cost(call, 8.0 * static_cast<double>(s.n * s.heads * s.width) * static_cast<double>(s.m));
}

Launch pass(const OpCall& call, const Caps& caps, const char* shader, std::int64_t groups, std::int64_t bins,
            std::array<Operand, 2> results) {
    const RuleSizes s = sizes_of(call);
    const std::uint32_t lanes = workgroup_size(caps, 64);
    params::AttentionBackwardConstants own{
        .EACH = ceil_div(s.width, lanes), .BINS = u32(bins), .BINS_EACH = std::max(1u, ceil_div(bins, lanes))};
    own.lanes = lanes;
    own.Q_TYPE = storage_of(call, q_);
    own.KV_TYPE = storage_of(call, k_);
    own.D = u32(s.width);
    own.DV = u32(2 * reach_of(call) + 1);
    set_rules(own, call, rule_operands);
    Launch l{.shader = shader,
             .spec = own,
             .operands = {in(dw_), in(q_), in(k_), no_operand, in(lse_), no_operand, in(mask_), in(position_bias_),
                          in(block_mask_), in(segments_), results[0], results[1]},
             .groups = flat_grid(groups, caps)};
    return l.with(params::AttentionBackwardParams{.n = u32(s.n),
                                                  .m = u32(s.m),
                                                  .batch = 1,
                                                  .heads = u32(s.heads),
                                                  .kv_heads = u32(s.kv_heads),
                                                  .causal = call.attrs.flag("causal"),
                                                  .scale = static_cast<float>(scale_of(call, q_))});
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const RuleSizes s = sizes_of(call);
    const BiasSums sums = sums_of(call);
    int next = 2;
    LaunchPlan plan;
    plan.launches.push_back(pass(call, caps, "distance_weights_backward_rows", s.n * s.heads, sums.of_row,
                                 {out(0), sums.of_row > 0 ? out(next++) : no_operand}));
    const std::int64_t keys = s.m * s.kv_heads;
    plan.launches.push_back(pass(call, caps, "distance_weights_backward_keys", keys, 0, {out(1), no_operand}));
    if (sums.of_key > 0 || sums.by_key)
        plan.launches.push_back(
            pass(call, caps, "distance_weights_backward_bias", keys, sums.of_key, {out(next), no_operand}));
    return plan;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    // lse large enough that weights stay below 1
    const auto add = [&](const char* name, std::int64_t n, std::int64_t m, std::int64_t reach, Attrs attrs,
                         std::initializer_list<std::pair<int, Case::Input>> operands = {}) {
        attrs.set("largest_distance", reach);
        Case c{.name = name, .attrs = std::move(attrs)};
        c.inputs = {floats({n, 4, 2 * reach + 1}),
                    floats({n, 4, 24}),
                    floats({m, 2, 24}),
                    {.type = TensorType{Shape{n, 4}}, .low = 5, .high = 0.5}};
        c.inputs.resize(segments_ + 1);
        for (const auto& [at, input] : operands) c.inputs[static_cast<std::size_t>(at)] = input;
        for (Case::Input& input : c.inputs) input.fixed_type = true;
        list.push_back(std::move(c));
    };
    const auto bias = [](const char* kind) { return Attrs{{"position_bias", kind}, {"bias_gradient", true}}; };
    add("causal", 70, 70, 5, {{"causal", true}});
    for (Case::Input& input : list.back().inputs) input.fixed_type = input.low == 5;  // all storage types
    add("both ways, more keys than queries", 30, 80, 9, {});
    add("all at one distance", 12, 20, 0, {});
    add("further than the keys reach, softcap", 12, 20, 40, {{"causal", true}, {"softcap", 2.0}});
    add("more queries than keys, window", 20, 12, 3, {{"causal", true}, {"window_left", 4}});
    add("segments, mask", 20, 20, 3, {}, {{segments_, integers_below({20}, 3)}, {mask_, floats({4, 20, 20})}});
    add("slopes", 12, 20, 4, {{"bias_gradient", true}}, {{position_bias_, floats({4})}});
    add("bias by distance", 12, 20, 4, bias("distance"), {{position_bias_, floats({9, 4})}});
    add("bias by key", 12, 20, 4, bias("key"), {{position_bias_, floats({20, 4})}});
    Attrs relative = bias("relative_both");
    relative.set("reach", 3);
    add("relative keys and queries", 9, 11, 5, relative, {{position_bias_, floats({7 * (9 * 4 + 11 * 2)})}});
    add("additive", 12, 20, 4, bias("additive"), {{position_bias_, {.type = TensorType{Shape{24}}, .high = 0.5}}});
    add("rows that saw nothing", 2, 3, 1, {},
        {{lse_,
          filled_with(TensorType{Shape{2, 4}}, std::vector<double>(8, -std::numeric_limits<double>::infinity()))}});
    add("no keys", 3, 0, 2, {});
    add("no queries", 0, 5, 2, {});
    return list;
}

}  // namespace

const OpDef distance_weights_backward_op =
    define_op("distance_weights_backward",
              "dq and dk of distance_weights, and sums for the gradient of a bias (Shaw et al. 2018)", operand_names,
              infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);

}  // namespace vantage::internal::ops::distance_weights_backward
