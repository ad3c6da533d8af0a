// The gradients of attention. With t = scale q·k, c = softcap tanh(t / softcap), s = c + bias, p = exp(s - lse) and
// delta_i = dout_i · o_i - dlse_i
//   dv_j = Σ_i p r dout_i,  ds = p (r dout_i · v_j - delta_i),  dt = ds (1 - (c / softcap)²)
//   dq_i = scale Σ_j dt k_j,  dk_j = scale Σ_i dt q_i,  dsink_h = -Σ_i exp(sink - lse_i) delta_i
// with r the factor of dropout, 0 or 1 / (1 - probability), which is drawn again. The weights are made again from the
// log-sum-exp: nothing of n × m is stored (Dao et al. 2022, appendix B.2). One pass by rows and one by keys, each of
// which owns its results: no atomics, and the same bits in every run.
#include "runtime/ops/attention_backward.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/ops/attention_kernels.h"
#include "runtime/ops/attention_rules.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/column_sums.h"
#include "runtime/ops/coopmat.h"
#include "runtime/ops/dropout.h"
#include "runtime/ops/zeros.h"
#include "shaders/params/attention_backward.h"
#include "shaders/params/dropout.h"
#include "vantage/ops.h"

namespace vantage::internal {

namespace ops::attention_backward {
namespace {

constexpr RuleOperands rule_operands{
    .mask = mask_, .position_bias = position_bias_, .block_mask = block_mask_, .segments = segments_};

struct Sizes {
    std::int64_t batch, n, m, heads, kv_heads, d, dv;
    bool heads_first;
    std::int64_t group() const { return heads / kv_heads; }
    std::int64_t rows() const { return batch * n * heads; }
    RuleSizes rules() const {
        return {.batch = batch, .heads = heads, .n = n, .m = m, .kv_heads = kv_heads, .width = d};
    }
    std::int64_t q_row(std::int64_t b, std::int64_t i, std::int64_t h) const {
        return heads_first ? (b * heads + h) * n + i : (b * n + i) * heads + h;
    }
    std::int64_t k_row(std::int64_t b, std::int64_t j, std::int64_t h) const {
        return heads_first ? (b * kv_heads + h) * m + j : (b * m + j) * kv_heads + h;
    }
};
Sizes sizes_of(const OpCall& call) {
    const Shape &q = call.in(q_).shape, &k = call.in(k_).shape;
    const bool first = call.attrs.flag("heads_first");
    return {.batch = q.rank() == 4 ? q[0] : 1,
            .n = first ? q[-2] : q[-3],
            .m = first ? k[-2] : k[-3],
            .heads = first ? q[-3] : q[-2],
            .kv_heads = first ? k[-3] : k[-2],
            .d = q[-1],
            .dv = call.in(v_).shape[-1],
            .heads_first = first};
}

BiasSums sums_of(const OpCall& call) { return bias_sums(call, position_bias_, sizes_of(call).rules()); }
bool wants_sinks(const OpCall& call) { return call.has(sinks_) && call.attrs.flag("sink_gradient"); }

// The passes of a call: where q is frozen only that by keys, where k and v are, only that by rows.
struct Passes {
    bool by_rows, by_keys;
    int dk() const { return by_rows ? 1 : 0; }
    int dv() const { return dk() + 1; }
    int next() const { return dk() + (by_keys ? 2 : 0); }  // the first result behind dq, dk and dv
};
Passes passes_of(const OpCall& call) {
    return {.by_rows = !call.attrs.flag("keys_only"), .by_keys = !call.attrs.flag("rows_only")};
}

// dq, dk and dv, of the passes that the call has; then as there are: numbers of rows, numbers of keys, dsinks.
std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &q = call.in(q_), &k = call.in(k_), &v = call.in(v_), &o = call.in(o_);
    const Sizes s = sizes_of(call);
    for (const int i : {dout_, q_, k_, v_, o_})
        call.require(is_float(call.in(i).dtype), operand_is(call, i) + ", but must be f32, f16 or bf16");
    require_type(call, dout_, o);
    Shape of_o = q.shape, per_row(q.shape.sizes().first(static_cast<std::size_t>(q.shape.rank() - 1)));
    of_o[-1] = s.dv;
    require_type(call, o_, {of_o, q.dtype});
    static_cast<void>(call.in(lse_));
    for (const int i : {lse_, dlse_}) require_type(call, i, {per_row, DType::f32});
    require_type(call, kv_len_, {Shape{s.batch}, DType::i32});
    check_rule_operands(call, rule_operands, s.rules(), AttentionRules(call.attrs));
    require_type(call, dropout_, {Shape{DROPOUT_WORDS}, DType::u32});
    const Passes passes = passes_of(call);
    call.require(passes.by_rows || passes.by_keys, "rows_only and keys_only leave no gradient");
    call.require(passes.by_rows || sums_of(call).of_row == 0, "keys_only leaves out the pass that this bias needs");
    std::vector<TensorType> results;
    if (passes.by_rows) results.push_back(q);
    if (passes.by_keys) results.insert(results.end(), {k, v});
    for (const TensorType& type : sums_of(call).types(s.rules())) results.push_back(type);
    if (wants_sinks(call)) results.push_back({Shape{s.heads}, DType::f32});
    return results;
}

// Calls `visit` with each pair that sees each other: batch, head, row, key, p times the factor of dropout, ds and dt.
template <class Visit>
void for_pairs(const OpCall& call, std::span<const HostTensor> in, const Visit& visit) {
    const Sizes s = sizes_of(call);
    const AttentionRules rules(call.attrs);
    const double scale = scale_of(call, q_);
    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.heads; ++h)
            for (std::int64_t i = 0; i < s.n; ++i) {
                const std::int64_t row = s.q_row(b, i, h);
                double delta = call.has(dlse_) ? -in[dlse_][row] : 0;
                for (std::int64_t e = 0; e < s.dv; ++e) delta += in[dout_][row * s.dv + e] * in[o_][row * s.dv + e];
                const std::int64_t keys =
                    call.has(kv_len_) ? std::min(static_cast<std::int64_t>(in[kv_len_][b]), s.m) : s.m;
                for (std::int64_t j = 0; j < keys; ++j) {
                    const std::int64_t key = s.k_row(b, j, h / s.group());
                    double t = 0, dp = 0;
                    for (std::int64_t d = 0; d < s.d; ++d)
                        t += scale *
                             score_part(rules, in, rule_operands, d, in[q_][row * s.d + d], in[k_][key * s.d + d]);
                    const auto score =
                        ruled_score(call, in, rule_operands, s.rules(), rules, t, b, b, h, i, i + s.m - s.n, j);
                    if (!score) continue;
                    for (std::int64_t e = 0; e < s.dv; ++e) dp += in[dout_][row * s.dv + e] * in[v_][key * s.dv + e];
                    const double p = std::exp(*score - in[lse_][row]),
                                 factor = call.has(dropout_) ? dropout_factor(in[dropout_], row, j) : 1,
                                 ds = p * (factor * dp - delta),
                                 bent = rules.softcap > 0 ? std::tanh(t / rules.softcap) : 0;
                    visit(b, h, i, j, factor * p, ds, ds * (1 - bent * bent));
                }
            }
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    const AttentionRules rules(call.attrs);
    const double scale = scale_of(call, q_);
    const BiasSums sums = sums_of(call);
    const Passes passes = passes_of(call);
    const std::span<HostTensor> extra = out.subspan(static_cast<std::size_t>(passes.next()));
    for_pairs(call, in,
              [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, double p, double ds, double dt) {
                  const std::int64_t row = s.q_row(b, i, h), key = s.k_row(b, j, h / s.group());
                  for (std::int64_t d = 0; d < s.d; ++d) {
                      const double q = in[q_][row * s.d + d], k = in[k_][key * s.d + d];
                      double by_q = scale * dt * k, by_k = scale * dt * q;
                      if (rules.is_additive()) {
                          const double f = std::tanh(q + k);
                          by_q = by_k = dt * in[position_bias_][d] * (1 - f * f);
                          if (sums.of_row > 0) extra[0][row * s.d + d] += dt * f;
                      }
                      if (passes.by_rows) out[0][row * s.d + d] += by_q;
                      if (passes.by_keys) at(out, passes.dk())[key * s.d + d] += by_k;
                  }
                  for (std::int64_t e = 0; passes.by_keys && e < s.dv; ++e)
                      at(out, passes.dv())[key * s.dv + e] += p * in[dout_][row * s.dv + e];
                  if (!rules.is_additive()) sums.add(rules, s.rules(), {b, h, i, j, ds}, extra);
              });
    if (!wants_sinks(call)) return;
    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t i = 0; i < s.n; ++i)
            for (std::int64_t h = 0; h < s.heads; ++h) {
                const std::int64_t row = s.q_row(b, i, h);
                double delta = call.has(dlse_) ? -in[dlse_][row] : 0;
                for (std::int64_t e = 0; e < s.dv; ++e) delta += in[dout_][row * s.dv + e] * in[o_][row * s.dv + e];
                out.back()[h] -= std::exp(in[sinks_][h] - in[lse_][row]) * delta;
            }
}

// Seven products of a pair instead of forward's two: scores, dout·v and dq by rows; scores, dout·v, dk and dv by keys.
Cost cost(const OpCall& call) {
    const Sizes s = sizes_of(call);
    const AttentionRules rules(call.attrs);
    double seen = 0;  // keys, by all queries of a head
    for (std::int64_t i = 0; i < s.n; ++i) seen += rules.keys_seen(i + s.m - s.n, s.m);
    const Passes passes = passes_of(call);
    const std::int64_t products = (passes.by_rows ? 2 * s.d + s.dv : 0) + (passes.by_keys ? 2 * (s.d + s.dv) : 0);
    return streaming_cost(call, static_cast<double>(s.batch * s.heads) * seen * 2.0 * static_cast<double>(products));
}

// One pass; the constants that only some kernels have are in `own`.
template <class Constants>
Launch pass(const OpCall& call, const Caps& caps, const char* shader, Constants own, std::int64_t groups,
            std::array<Operand, 2> results) {
    const Sizes s = sizes_of(call);
    own.Q_TYPE = storage_of(call, q_);
    own.KV_TYPE = storage_of(call, k_);
    own.D = u32(s.d);
    own.DV = u32(s.dv);
    set_rules(own, call, rule_operands);
    own.DROPOUT = call.has(dropout_);
    Launch l{.shader = shader,
             .spec = own,
             .operands = {in(dout_), in(q_), in(k_), in(v_), scratch_in(0), in(kv_len_), in(mask_), in(position_bias_),
                          in(block_mask_), in(segments_), results[0], results[1]},
             .groups = flat_grid(groups, caps)};
    return l.with(params::AttentionBackwardParams{.n = u32(s.n),
                                                  .m = u32(s.m),
                                                  .batch = u32(s.batch),
                                                  .heads = u32(s.heads),
                                                  .kv_heads = u32(s.kv_heads),
                                                  .causal = call.attrs.flag("causal"),
                                                  .heads_first = s.heads_first,
                                                  .scale = static_cast<float>(scale_of(call, q_))});
}

Launch delta_of_rows(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::uint32_t lanes = workgroup_size(caps, 64);
    Launch l{.shader = "attention_delta",
             .spec = params::AttentionDeltaConstants{.lanes = lanes, .Q_TYPE = storage_of(call, q_), .DV = u32(s.dv)},
             .operands = {in(dout_), in(o_), in(lse_), in(dlse_), in(dropout_), scratch_out(0)},
             .groups = flat_grid(ceil_div(s.rows(), lanes), caps)};
    return l.with(params::AttentionDeltaParams{.rows = u32(s.rows())});
}

Launch sink_gradient(const OpCall& call, const Caps& caps, int result) {
    const Sizes s = sizes_of(call);
    Launch l{.shader = "attention_sink_gradient",
             .spec = params::WorkgroupConstants{.lanes = workgroup_size(caps, 64)},
             .operands = {scratch_in(0), in(sinks_), out(result)},
             .groups = flat_grid(s.heads, caps)};
    return l.with(params::AttentionSinkGradientParams{
        .rows = u32(s.rows()), .n = u32(s.n), .heads = u32(s.heads), .heads_first = s.heads_first});
}

// lse and delta of each row, and the words of dropout.
std::uint64_t stats_bytes(const Sizes& s) { return static_cast<std::uint64_t>(s.rows() * 2 + DROPOUT_WORDS) * 4; }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const BiasSums bins = sums_of(call);
    const std::uint32_t lanes = workgroup_size(caps, 64);
    const std::int64_t keys = s.batch * s.m * s.kv_heads;
    LaunchPlan plan = delta_of_rows(call, caps);
    plan.scratch = {stats_bytes(s)};
    const Passes passes = passes_of(call);
    int next = passes.next();
    const auto add = [&](const char* shader, std::int64_t groups, std::int64_t bins_each,
                         std::array<Operand, 2> results) {
        params::AttentionBackwardConstants own{.EACH = ceil_div(std::max(s.d, s.dv), lanes),
                                               .BINS = u32(bins_each),
                                               .BINS_EACH = std::max(1u, ceil_div(bins_each, lanes))};
        own.lanes = lanes;
        plan.launches.push_back(pass(call, caps, shader, own, groups, results));
    };
    if (passes.by_rows)
        add("attention_backward_rows", s.rows(), bins.of_row, {out(0), bins.of_row > 0 ? out(next++) : no_operand});
    if (passes.by_keys) add("attention_backward_keys", keys, 0, {out(passes.dk()), out(passes.dv())});
    if (bins.of_key > 0 || bins.by_key) add("attention_backward_bias", keys, bins.of_key, {out(next++), no_operand});
    if (wants_sinks(call)) plan.launches.push_back(sink_gradient(call, caps, next));
    return plan;
}

// On CPU devices: a row or a key a lane. Rules but packed documents go another way. Not with subgroups of 4, as
// SwiftShader has, which compiles it for more than ten minutes.
bool fits_cpu_simd(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    return caps.is_cpu() && caps.subgroup_size >= 8 && !caps.ends_long_loops() &&
           (s.n == s.m || !call.has(segments_)) &&
           !has_rules_besides_documents(call, rule_operands, AttentionRules(call.attrs)) &&
           call.attrs.integer("prefix_len", 0) == 0 && s.rows() > 0 && s.m > 0 && s.d % 4 == 0 && s.dv % 4 == 0 &&
           s.d <= 256 && s.dv <= 256;
}

// The passes with a workgroup for each `block` rows or keys.
template <class Constants>
LaunchPlan launch_blocks(const OpCall& call, const Caps& caps, const char* by_rows, const char* by_keys,
                         std::int64_t block, const Constants& own, std::uint32_t subgroup_size = 0) {
    const Sizes s = sizes_of(call);
    const Passes passes = passes_of(call);
    LaunchPlan plan = delta_of_rows(call, caps);
    plan.scratch = {stats_bytes(s)};
    const auto add = [&](const char* shader, std::int64_t count, std::int64_t heads, std::array<Operand, 2> results) {
        plan.launches.push_back(pass(call, caps, shader, own, s.batch * heads * ceil_div(count, block), results));
        plan.launches.back().subgroup_size = subgroup_size;
    };
    if (passes.by_rows) add(by_rows, s.n, s.heads, {out(0), no_operand});
    if (passes.by_keys) add(by_keys, s.m, s.kv_heads, {out(passes.dk()), out(passes.dv())});
    if (wants_sinks(call)) plan.launches.push_back(sink_gradient(call, caps, passes.next()));
    return plan;
}

params::AttentionBackwardConstants lanes_only(std::uint32_t lanes) {
    params::AttentionBackwardConstants own;
    own.lanes = lanes;
    return own;
}

LaunchPlan launch_cpu_simd(const OpCall& call, const Caps& caps) {
    return launch_blocks(call, caps, "attention_backward_rows_cpu_simd", "attention_backward_keys_cpu_simd", 32,
                         lanes_only(32));
}

// 64 rows or keys a workgroup.
bool fits_tiled(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    return attention::fits_tiles(call, caps, rule_operands, s.d, s.dv) && !call.attrs.flag("bias_gradient") &&
           s.rows() > 0 && s.m > 0 && (!caps.ends_long_loops() || std::max(s.n * s.group(), s.m) <= longest_loop);
}

bool tiled_profitable(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    return attention::tiles_profitable(call, caps) && std::max(s.n, s.m) >= 32;
}

LaunchPlan launch_tiled(const OpCall& call, const Caps& caps) {
    return launch_blocks(call, caps, "attention_backward_rows_tiled", "attention_backward_keys_tiled",
                         attention::tiled_rows, lanes_only(attention::tiled_lanes));
}

// The same tiles on matrix units. Each subgroup has as many matrices of the 64 x 64 products.
struct MatrixTiles {
    std::uint32_t m, n, k, subgroup;
    std::uint32_t subgroups() const { return attention::tiled_lanes / subgroup; }
    bool divides() const {
        constexpr std::uint32_t tile = attention::tiled_rows;
        return std::max({m, n, k}) <= tile && (tile / m) * (tile / n) % subgroups() == 0;
    }
    // The numbers of a tile's pairs in f32 and in f16, and slices of 64 own and 64 met rows or of `slice` met ones.
    std::uint32_t shared_bytes(const Sizes& s, std::uint32_t slice) const {
        const std::uint32_t width = ceil_div(std::max(s.d, s.dv), n) * n;
        return 16 * (64 * 17 + 64 * 9 + std::max(2 * 64 * (slice / 8 + 1), slice * (width / 8 + 1)));
    }
    // Features or rows of a slice; 0 if none fits.
    std::uint32_t slice(const Sizes& s, const Caps& caps) const {
        for (const std::uint32_t one : {32u, 16u})
            if (one >= k && shared_bytes(s, one) <= caps.max_shared_memory) return one;
        return 0;
    }
};
std::optional<MatrixTiles> matrix_tiles(const Caps& caps) {
    const CooperativeMatrix* shape = f16_matrix(caps);
    if (shape == nullptr) return {};
    const MatrixTiles tiles{.m = shape->m, .n = shape->n, .k = shape->k, .subgroup = matrix_subgroup(*shape, caps)};
    return tiles.divides() ? std::optional(tiles) : std::nullopt;
}

// Rounds p, dt, dout, q, k and v to f16, which the call must allow (f16_operands).
bool fits_coopmat(const OpCall& call, const Caps& caps) {
    const auto tiles = matrix_tiles(caps);
    return call.attrs.flag("f16_operands") && fits_tiled(call, caps) && tiles && tiles->slice(sizes_of(call), caps) > 0;
}

LaunchPlan launch_coopmat(const OpCall& call, const Caps& caps) {
    const MatrixTiles tiles = *matrix_tiles(caps);
    params::AttentionBackwardMatrixConstants own{.M = tiles.m,
                                                 .N = tiles.n,
                                                 .K = tiles.k,
                                                 .SLICE = tiles.slice(sizes_of(call), caps),
                                                 .SUBGROUPS = tiles.subgroups()};
    own.lanes = attention::tiled_lanes;
    return launch_blocks(call, caps, "attention_backward_rows_coopmat", "attention_backward_keys_coopmat",
                         attention::tiled_rows, own, tiles.subgroup);
}

// Not with matrices of 8 rows, as Intel's are: there lanes have too few registers, and spill.
bool coopmat_profitable(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    return not_on_cpu(call, caps) && matrix_tiles(caps)->m >= 16 && std::max(s.n, s.m) >= 32;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, const Shape& q, const Shape& k, std::int64_t dv, Attrs attrs,
                         std::initializer_list<std::pair<int, Case::Input>> operands = {}) {
        Shape v = k, o = q;
        v[-1] = o[-1] = dv;
        const Shape per_row(q.sizes().first(static_cast<std::size_t>(q.rank() - 1)));
        Case c{.name = name, .attrs = std::move(attrs)};
        c.inputs = {floats(o),
                    floats(q),
                    floats(k),
                    floats(v),
                    floats(o),
                    {.type = TensorType{per_row}, .low = 6},
                    {.type = TensorType{per_row}}};
        c.inputs.resize(14);
        for (const auto& [at, input] : operands) c.inputs[static_cast<std::size_t>(at)] = input;
        for (Case::Input& input : c.inputs) input.fixed_type = true;
        list.push_back(std::move(c));
    };
    const Attrs causal = {{"causal", true}};
    add("causal, grouped heads", {37, 4, 24}, {37, 2, 24}, 32, causal);
    add("batch, heads first", {2, 3, 5, 17}, {2, 3, 70, 17}, 17, {{"heads_first", true}, {"scale", 0.3}});
    add("lengths", {2, 9, 2, 24}, {2, 30, 1, 24}, 24, {}, {{kv_len_, list_of(DType::i32, {21, 0})}});
    add("window, global tokens, softcap", {70, 3, 24}, {70, 1, 24}, 24,
        {{"window_left", 6}, {"window_right", 4}, {"global_tokens", 2}, {"softcap", 2.0}});
    add("causal window, sinks", {70, 3, 24}, {70, 1, 24}, 24,
        {{"causal", true}, {"window_left", 6}, {"sink_gradient", true}}, {{sinks_, floats({3})}});
    add("dilated, prefix", {40, 3, 24}, {70, 1, 24}, 24, {{"causal", true}, {"dilation", 3}, {"prefix_len", 5}});
    add("window and stride", {70, 3, 24}, {70, 1, 24}, 24, {{"causal", true}, {"window_left", 6}, {"stride", 7}});
    add("blocks, segments, mask", {70, 3, 24}, {70, 1, 24}, 24, {{"block_size", 8}},
        {{block_mask_, integers_below({9, 9}, 3)}, {segments_, integers_below({70}, 3)}, {mask_, floats({3, 70, 70})}});
    add("slopes", {30, 3, 24}, {70, 1, 24}, 24, {{"bias_gradient", true}},
        {{position_bias_, {.type = TensorType{Shape{3}}, .fill = Case::Fill::uniform, .low = 0, .high = 0.5}}});
    add("bias by distance", {30, 3, 24}, {70, 1, 24}, 24, {{"position_bias", "distance"}, {"bias_gradient", true}},
        {{position_bias_, floats({33, 3})}});
    add("bias by key", {30, 3, 24}, {70, 1, 24}, 24,
        {{"causal", true}, {"position_bias", "key"}, {"bias_gradient", true}}, {{position_bias_, floats({70, 3})}});
    add("relative keys and queries", {2, 9, 4, 24}, {2, 11, 2, 24}, 24,
        {{"position_bias", "relative_both"}, {"reach", 3}, {"bias_gradient", true}},
        {{position_bias_, floats({2 * 7 * (9 * 4 + 11 * 2)})}});
    add("additive", {30, 3, 24}, {40, 1, 24}, 24, {{"position_bias", "additive"}, {"bias_gradient", true}},
        {{position_bias_, floats({24})}});
    add("dropout, causal, grouped heads", {37, 4, 24}, {70, 2, 24}, 32, causal, {{dropout_, dropout_of_case()}});
    add("dropout, batch, lengths, heads first", {2, 3, 5, 17}, {2, 3, 70, 17}, 17, {{"heads_first", true}},
        {{kv_len_, list_of(DType::i32, {51, 7})}, {dropout_, dropout_of_case()}});
    add("dropout, window, sinks, bias", {40, 3, 24}, {70, 1, 24}, 24,
        {{"window_left", 12}, {"position_bias", "distance"}, {"bias_gradient", true}, {"sink_gradient", true}},
        {{position_bias_, floats({33, 3})}, {sinks_, floats({3})}, {dropout_, dropout_of_case()}});
    add("tiles, causal, grouped heads", {130, 2, 64}, {150, 1, 64}, 64, causal);
    add("wide tiles, batch, lengths", {2, 70, 1, 96}, {2, 90, 1, 96}, 128, {},
        {{kv_len_, list_of(DType::i32, {90, 65})}});
    add("tiles of 96 features", {70, 1, 96}, {90, 1, 96}, 96, causal);
    add("tiles, window, dropout", {150, 2, 32}, {150, 2, 32}, 32, {{"causal", true}, {"window_left", 20}},
        {{dropout_, dropout_of_case()}});
    add("keys and values that are frozen", {70, 2, 32}, {70, 1, 32}, 32, {{"rows_only", true}, {"sink_gradient", true}},
        {{sinks_, floats({2})}});
    add("frozen queries, bias by key", {30, 3, 24}, {70, 1, 24}, 24,
        {{"keys_only", true}, {"position_bias", "key"}, {"bias_gradient", true}}, {{position_bias_, floats({70, 3})}});
    add("packed documents", {200, 2, 32}, {200, 1, 32}, 32, {{"causal", true}, {"packed", true}},
        {{segments_, documents_of_case(200)}});
    add("batch, packed documents", {2, 100, 2, 24}, {2, 100, 1, 24}, 24, {{"causal", true}, {"packed", true}},
        {{segments_, documents_of_batch(100)}});
    add("packed documents, both ways, dropout", {200, 2, 24}, {200, 1, 24}, 24, {{"packed", true}},
        {{segments_, documents_of_case(200)}, {dropout_, dropout_of_case()}});
    add("more queries than keys", {6, 1, 24}, {4, 1, 24}, 24, causal);
    add("no keys", {3, 1, 24}, {0, 1, 24}, 24, {});
    return list;
}

}  // namespace

const OpDef attention_backward_op =
    define_op("attention_backward",
              "dq, dk and dv of attention from its log-sum-exp, in one pass by rows and one by keys (Dao et al. 2022)",
              operand_names, infer, reference, cost,
              {{"cpu_simd", need_nothing, fits_cpu_simd, launch_cpu_simd, loads_once},
               {"coopmat", need_coopmat | need_fp16, fits_coopmat, launch_coopmat, coopmat_profitable},
               {"tiled", need_nothing, fits_tiled, launch_tiled, tiled_profitable},
               {"plain", need_nothing, every_call, launch}},
              cases, of_a_gradient);

}  // namespace ops::attention_backward

BiasSums bias_sums(const OpCall& call, int position_bias, const RuleSizes& sizes) {
    if (!call.has(position_bias) || !call.attrs.flag("bias_gradient")) return {};
    const AttentionRules rules(call.attrs);
    switch (rules.bias) {
        case PositionBias::alibi: return {.of_row = 1};
        case PositionBias::distance: return {.of_row = call.in(position_bias).shape[0]};
        case PositionBias::relative: return {.of_row = 2 * rules.reach + 1};
        case PositionBias::relative_both: return {.of_row = 2 * rules.reach + 1, .of_key = 2 * rules.reach + 1};
        case PositionBias::additive: return {.of_row = sizes.width};
        default: return {.by_key = true};
    }
}

std::vector<TensorType> BiasSums::types(const RuleSizes& s) const {
    std::vector<TensorType> types;
    if (of_row > 0) types.push_back({Shape{s.batch, s.n, s.heads, of_row}, DType::f32});
    if (of_key > 0) types.push_back({Shape{s.batch, s.m, s.kv_heads, of_key}, DType::f32});
    if (by_key) types.push_back({Shape{s.batch, s.m, s.heads}, DType::f32});
    return types;
}

void BiasSums::add(const AttentionRules& rules, const RuleSizes& s, const ScoreGradient& pair,
                   std::span<HostTensor> sums) const {
    const auto& [b, h, i, j, ds] = pair;
    const bool slopes = rules.bias == PositionBias::alibi;
    const std::int64_t distance = j - (i + s.m - s.n),
                       reach = rules.bias == PositionBias::distance ? of_row / 2 : rules.reach,
                       place = slopes ? 0 : std::clamp(distance, -reach, reach) + reach;
    const double factor = !slopes ? 1 : static_cast<double>(rules.causal ? distance : -std::abs(distance));
    if (of_row > 0) sums[0][((b * s.n + i) * s.heads + h) * of_row + place] += ds * factor;
    if (of_key > 0) sums[1][((b * s.m + j) * s.kv_heads + h / (s.heads / s.kv_heads)) * of_key + place] += ds;
    if (by_key) sums[0][(b * s.m + j) * s.heads + h] += ds;
}

// The sums are over rows, or over the batch.
Tensor bias_gradient(const AttentionRules& rules, const Tensor& bias, std::span<const Tensor> sums,
                     SourceLocation where) {
    Graph graph = bias.graph();
    const auto flat = [&](const Tensor& x) { return graph.reshape(x, {x.shape().elements()}, where); };
    const std::int64_t heads = sums[0].shape()[2];
    switch (rules.bias) {
        case PositionBias::relative: return flat(sums[0]);
        case PositionBias::relative_both: return vantage::concat(flat(sums[0]), flat(sums[1]), where);
        case PositionBias::distance: {  // [batch, n, heads, distances] -> [distances, heads]
            const std::int64_t distances = bias.shape()[0];
            const Tensor by_head = sum_to({heads, distances, 1}, sums[0], {}, where);
            return vantage::merge_heads(by_head, where);
        }
        default: return sum_to(bias.shape(), sums[0], {}, where);
    }
}

std::vector<Tensor> attention_gradient(const GradientCall& g) {
    namespace of = ops::attention;
    const OpCall& call = g.call;
    call.require(!call.attrs.flag("hard"), "hard attention has no gradient: which key is the largest changes by jumps");
    call.require(!call.has(of::step_), of_a_state);
    call.require(!g.needed[of::mask_],
                 "a mask has no gradient: it would be as large as the mask; learn a bias by position");
    const Tensor &dout = g.gradients[of::o_], &dlse = g.gradients[of::lse_];
    for (std::size_t i = 2; i < g.gradients.size(); ++i)
        call.require(!g.gradients[i], "the statistics of attention have no gradient");
    Graph graph = g.inputs[of::q_].graph();
    Attrs attrs = call.attrs;
    for (const char* name : {"statistics", "counts", "any_cache", "f16_operands"}) attrs.erase(name);
    if (g.needed[of::position_bias_]) attrs.set("bias_gradient", true);
    if (g.needed[of::sinks_]) attrs.set("sink_gradient", true);
    if (!g.needed[of::k_] && !g.needed[of::v_])
        attrs.set("rows_only", true);
    else if (!g.needed[of::q_] && !g.needed[of::position_bias_])
        attrs.set("keys_only", true);
    const std::vector<Tensor> made =
        add_call(graph, attention_backward_op,
                 {dout ? dout : zeros(graph, g.outputs[of::o_].shape(), g.where), g.inputs[of::q_], g.inputs[of::k_],
                  g.inputs[of::v_], g.outputs[of::o_], g.outputs[of::lse_], dlse, g.inputs[of::kv_len_],
                  g.inputs[of::mask_], g.inputs[of::position_bias_], g.inputs[of::block_mask_], g.inputs[of::segments_],
                  g.inputs[of::sinks_], g.inputs[of::dropout_]},
                 attrs, g.where);
    std::vector<Tensor> result(11);
    auto next = made.begin();
    if (!attrs.flag("keys_only")) result[of::q_] = *next++;
    if (!attrs.flag("rows_only")) result[of::k_] = *next++, result[of::v_] = *next++;
    if (g.needed[of::position_bias_])
        result[of::position_bias_] = bias_gradient(AttentionRules(call.attrs), g.inputs[of::position_bias_],
                                                   std::span(next, made.end()), g.where);
    if (g.needed[of::sinks_]) result[of::sinks_] = made.back();
    return result;
}

}  // namespace vantage::internal
