// Attention in tiles, the matrix of weights never stored; the natural log-sum-exp of each row is a result.
//   o_i = Σ_j exp(scale q_i·k_j - lse_i) v_j,  lse_i = ln Σ_j exp(scale q_i·k_j)
// and where they are wanted entropy -Σ_j p_ij ln p_ij and largest weight of each row, from sums made in the same pass.
// Hard attention takes one key instead: o_i = v_j of the largest score, which is lse_i; j is a result. Additive scores
// take the place of scale q_i·k_j where the call has their vector (attention_rules.h).
// Vaswani et al. 2017; Milakov & Gimelshein 2018 (online softmax); Dao et al. 2022 (FlashAttention); Ainslie et al.
// 2023 (GQA).
#include "runtime/ops/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "runtime/base/format.h"
#include "runtime/ops/attention_backward.h"
#include "runtime/ops/attention_kernels.h"
#include "runtime/ops/distance_weights.h"
#include "runtime/ops/dropout.h"
#include "runtime/ops/step.h"
#include "shaders/params/attention.h"
#include "shaders/params/dropout.h"
#include "shaders/params/quantized.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::attention {

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

// Elements of a key that are read at a time. A split with few rows is bound by reading the cache: it reads 16 bytes of
// f16, and four values at once. With more rows, or with narrow subgroups and 64 registers a lane, this spills
// (bench/devices.py), and arithmetic is the bound.
static std::uint32_t key_step(const Sizes& s, const Caps& caps, std::uint32_t rows, std::uint32_t split) {
    const bool registers = rows <= 4 && (caps.max_subgroup_size > 16 || caps.is_cpu());
    if (split > 0 && s.d % 8 == 0 && registers) return 8;
    return s.d % 4 == 0 ? 4 : 1;
}

bool is_union(const OpCall& call) { return AttentionRules(call.attrs).stride > 0 && !call.attrs.flag("hard"); }

std::int64_t classes_of(const OpCall& call, Part part) {
    const AttentionRules rules(call.attrs);
    const std::int64_t step = part == Part::far                       ? (rules.summary_keys > 0 ? 1 : rules.stride)
                              : part == Part::all && rules.stride > 0 ? 1
                                                                      : rules.dilation;
    return std::clamp<std::int64_t>(step, 1, std::max<std::int64_t>(sizes_of(call).n, 1));
}

std::int64_t rows_of_class(const OpCall& call, Part part) {
    const Sizes s = sizes_of(call);
    return ceil_div(s.n, classes_of(call, part)) * s.group();
}

std::int64_t fewest_rows_of_class(const OpCall& call) {
    return is_union(call) ? std::min(rows_of_class(call, Part::near), rows_of_class(call, Part::far))
                          : rows_of_class(call, Part::all);
}

Launch attention_launch(const OpCall& call, const Caps& caps, const char* shader, std::vector<std::uint32_t> constants,
                        std::uint32_t rows, Part part, std::uint32_t split) {
    const Sizes s = sizes_of(call);
    const std::uint32_t blocks =
        u32(classes_of(call, part)) * std::max(1u, ceil_div(rows_of_class(call, part), std::int64_t{rows}));
    Launch l{.shader = shader,
             .spec = std::move(constants),
             .operands = {in(q_), in(k_), in(v_), in(call.has(dropout_) ? dropout_ : step_), in(kv_len_), in(mask_),
                          in(position_bias_), in(block_mask_), in(segments_), in(sinks_), out(o_), out(lse_)},
             .groups = split > 0 ? std::array{std::max(1u, ceil_div(s.m, split)), blocks, u32(s.batch * s.kv_heads)}
                                 : flat_grid(s.batch * s.kv_heads * blocks, caps)};
    return l.with(params::AttentionParams{.n = u32(s.n),
                                          .m = u32(s.m),
                                          .batch = u32(s.batch),
                                          .heads = u32(s.heads),
                                          .kv_heads = u32(s.kv_heads),
                                          .causal = call.attrs.flag("causal"),
                                          .heads_first = s.heads_first,
                                          .scale = static_cast<float>(scale_of(call, q_))});
}

LaunchPlan attention_plan(const OpCall& call, const Caps& caps, const std::function<Launch(Part)>& launch_part,
                          std::uint32_t split) {
    if (split == 0 && !is_union(call)) return launch_part(Part::all);
    const Sizes s = sizes_of(call);
    constexpr std::uint32_t all_keys = 1u << 30;
    const bool statistics = call.attrs.flag("statistics"),
               follows_step = split > 0 && call.has(step_) && !call.has(kv_len_);  // else all splits run
    const std::uint32_t keys = split > 0 ? split : all_keys;
    std::vector<Part> parts{Part::all};
    if (is_union(call)) parts = {Part::near, Part::far};
    const std::uint64_t slots = std::max(1u, ceil_div(s.m, keys)) * parts.size();
    LaunchPlan plan;
    plan.scratch = {slots * static_cast<std::uint64_t>(s.rows() * s.dv) * 4,
                    slots * static_cast<std::uint64_t>(s.rows()) * (statistics ? 12 : 8)};
    for (const Part part : parts) {
        Launch partial = launch_part(part);
        partial.replace(out(o_), scratch_out(0)).replace(out(lse_), scratch_out(1));
        if (follows_step) {
            partial.keys_per_group = split;
            partial.step = step_;  // a launch begins with all inputs in their order
        }
        plan.launches.push_back(std::move(partial));
    }
    Launch join{.shader = "attention_reduce_splits",
                .spec = params::AttentionReduceSplitsConstants{.lanes = workgroup_size(caps, caps.is_cpu() ? 64 : 256),
                                                               .Q_TYPE = storage_of(call.in(q_).dtype),
                                                               .SPLIT = keys,
                                                               .STATISTICS = statistics,
                                                               .PARTS = u32(std::ssize(parts))},
                .operands = {scratch_in(0), scratch_in(1), in(step_), out(o_), out(lse_), in(sinks_)},
                .groups = flat_grid(s.rows(), caps)};
    if (statistics) join.operands.insert(join.operands.end(), {out(entropy_), out(largest_)});
    plan.launches.push_back(join.with(params::AttentionReduceSplitsParams{.m = u32(s.m),
                                                                          .rows = u32(s.rows()),
                                                                          .dv = u32(s.dv),
                                                                          .n = u32(s.n),
                                                                          .heads = u32(s.heads),
                                                                          .heads_first = s.heads_first,
                                                                          .all_splits = !follows_step}));
    return plan;
}

namespace {

// Keys that one workgroup of a split attention covers: fixed for a device, so that results do not depend on the
// context's size. A GPU needs many workgroups: with 64 keys and 8 key heads these are 512 at 4096 keys. What they leave
// to be reduced is 6 % of the keys and values that they read (f16, 64 features, 4 queries a key head).
constexpr std::int64_t most_keys_per_split = 256;
std::uint32_t keys_per_split(const Caps& caps) { return caps.is_cpu() ? u32(most_keys_per_split) : 64; }
constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &q = call.in(q_), &k = call.in(k_), &v = call.in(v_);
    const int rank = q.shape.rank();
    call.require(rank == 3 || rank == 4, "q is " + q.text() + ", but must have 3 dimensions, or 4 with a batch");
    call.require(k.shape.rank() == rank && v.shape.rank() == rank,
                 "k " + k.text() + " and v " + v.text() + " do not have as many dimensions as q " + q.text());
    call.require(is_float(q.dtype), operand_is(call, q_) + ", but must be f32, f16 or bf16");
    for (int i : {k_, v_})
        call.require(is_float(call.in(i).dtype) || has_byte_kernels(call.in(i).dtype),
                     operand_is(call, i) + ", but must be f32, f16, bf16, q8_0 or q4_0");
    call.require(k.dtype == v.dtype, "k is " + k.text() + ", but v is " + v.text() + ": one storage type for both");
    const Sizes s = sizes_of(call);
    call.require(k.shape[-1] == s.d && s.d > 0, "k is " + k.text() + ", but q " + q.text() + " has another width");
    Shape like_k = k.shape;
    like_k[-1] = s.dv;
    call.require(v.shape == like_k && s.dv > 0, "v is " + v.text() + ", but k is " + k.text());
    call.require(s.d <= 1024 && s.dv <= 1024,
                 "q is " + q.text() + " and v " + v.text() + ", but heads may be 1024 features wide at most");
    call.require(rank == 3 || k.shape[0] == s.batch, "k is " + k.text() + ", but q " + q.text() + " has another batch");
    call.require(s.kv_heads > 0 && s.heads % s.kv_heads == 0,
                 format("{} query heads cannot share {} key heads evenly", s.heads, s.kv_heads));
    call.require(!is_quantized(k.dtype) ||
                     (s.d % params::QUANT_BLOCK == 0 && s.dv % params::QUANT_BLOCK == 0 && !call.attrs.flag("hard")),
                 operand_is(call, k_) + format(", but quantized keys and values have multiples of {} features, and "
                                               "hard attention does not read them",
                                               params::QUANT_BLOCK));
    require_step(call, step_);
    if (call.has(step_))
        call.require(sequences_of(call, step_) == s.batch,
                     operand_is(call, step_) + ", but q is " + q.text() + ": each of a batch has a step of its own");
    require_type(call, kv_len_, {Shape{s.batch}, DType::i32});
    check_rule_operands(call, rule_operands, s.rules(), AttentionRules(call.attrs));
    call.require(!call.has(step_) || !(call.has(mask_) || call.has(segments_)),
                 "with a step the keys are a cache, whose rows have no mask and no segments");
    const AttentionRules rules(call.attrs);
    call.require(!rules.is_relative() || !s.heads_first, "relative keys want tokens first: leave out heads_first");
    call.require(!call.attrs.flag("hard") || !rules.is_additive(), "hard attention has no additive scores");
    call.require(!call.attrs.flag("hard") || !call.has(sinks_), "sinks share a softmax, and hard attention has none");
    require_type(call, sinks_, {Shape{s.heads}, DType::f32});
    require_type(call, dropout_, {Shape{DROPOUT_WORDS}, DType::u32});
    call.require(!call.has(dropout_) || !(call.has(step_) || call.attrs.flag("hard") || call.attrs.flag("statistics")),
                 "dropout is for training: leave out step, hard and statistics");
    Shape o = q.shape, lse(q.shape.sizes().first(static_cast<std::size_t>(rank - 1)));
    o[-1] = s.dv;
    call.require(!(call.attrs.flag("statistics") && call.attrs.flag("hard")),
                 "hard attention takes one key: its entropy is 0, and nothing counts it");
    std::vector<TensorType> results{{o, q.dtype}, {lse, DType::f32}};
    if (call.attrs.flag("statistics")) results.insert(results.end(), 2, {lse, DType::f32});
    if (call.attrs.flag("hard")) results.push_back({lse, DType::f32});
    return results;
}

// The value of the key with the largest score, the first of equal ones; NaN where a score is no number.
void take_largest(const std::vector<std::pair<std::int64_t, double>>& scores, std::int64_t row, const HostTensor& v,
                  const Sizes& s, std::int64_t b, std::int64_t h, std::span<HostTensor> out) {
    if (std::ranges::any_of(scores, [](const auto& one) { return std::isnan(one.second); })) {
        const double nan = std::nan("");
        out[lse_][row] = out[key_][row] = nan;
        for (std::int64_t d = 0; d < s.dv; ++d) out[o_][row * s.dv + d] = nan;
        return;
    }
    const auto best = std::max_element(scores.begin(), scores.end(),
                                       [](const auto& x, const auto& y) { return x.second < y.second; });
    out[lse_][row] = best == scores.end() ? -infinity : best->second;
    out[key_][row] = best == scores.end() ? -1 : static_cast<double>(best->first);
    for (std::int64_t d = 0; d < s.dv && best != scores.end(); ++d)
        out[o_][row * s.dv + d] = v[s.k_row(b, best->first, h / s.group()) * s.dv + d];
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    const double scale = scale_of(call, q_);
    const bool stepped = call.has(step_);
    const AttentionRules rules(call.attrs);
    for (std::int64_t b = 0; b < s.batch; ++b) {
        const std::int64_t valid = stepped ? std::min(word(in[step_], STEP_VALID, b), s.n) : s.n,
                           own = stepped ? sequence_of(in[step_], b) : b,
                           part = call.attrs.flag("keys_by_lane") ? b : own,  // of k and v, that they see
            filled = call.has(kv_len_) ? std::min(static_cast<std::int64_t>(in[kv_len_][own]), s.m)
                     : stepped         ? std::min(word(in[step_], STEP_KEYS, b), s.m)
                                       : s.m,
                           first = stepped ? word(in[step_], STEP_POSITION, b) : s.m - s.n;  // of the rows
        for (std::int64_t h = 0; h < s.heads; ++h)
            for (std::int64_t i = 0; i < s.n; ++i) {
                const std::int64_t sees = i >= valid ? 0 : filled;
                const std::int64_t row = s.q_row(b, i, h), position = first + i;
                std::vector<std::pair<std::int64_t, double>> scores;
                for (std::int64_t j = 0; j < sees; ++j) {
                    double dot = 0;
                    for (std::int64_t d = 0; d < s.d; ++d)
                        dot += score_part(rules, in, rule_operands, d, in[q_][row * s.d + d],
                                          in[k_][s.k_row(part, j, h / s.group()) * s.d + d]);
                    if (const auto score = ruled_score(call, in, rule_operands, s.rules(), rules, scale * dot, b, own,
                                                       h, i, position, j))
                        scores.emplace_back(j, *score);
                }
                if (call.attrs.flag("hard")) {
                    take_largest(scores, row, in[v_], s, part, h, out);
                    continue;
                }
                const double sink = call.has(sinks_) ? in[sinks_][h] : -infinity;
                double peak = sink;
                for (const auto& [j, x] : scores) peak = std::max(peak, x);
                double sum = peak == -infinity ? 0 : std::exp(sink - peak);
                for (const auto& [j, x] : scores) sum += std::exp(x - peak);
                const double lse = peak == -infinity ? -infinity : peak + std::log(sum);
                for (std::int64_t d = 0; d < s.dv; ++d) {
                    double o = 0;
                    for (const auto& [j, x] : scores)
                        o += (call.has(dropout_) ? dropout_factor(in[dropout_], row, j) : 1) * std::exp(x - lse) *
                             in[v_][s.k_row(part, j, h / s.group()) * s.dv + d];
                    out[o_][row * s.dv + d] = o;
                }
                out[lse_][row] = lse;
                if (!call.attrs.flag("statistics")) continue;
                for (const auto& [j, x] : scores) {
                    const double p = std::exp(x - lse);
                    out[entropy_][row] += p > 0 ? p * (lse - x) : 0;
                    out[largest_][row] = std::max(out[largest_][row], p);
                }
            }
    }
}

Cost cost(const OpCall& call) {
    const Sizes s = sizes_of(call);
    const AttentionRules rules(call.attrs);
    double seen = 0;  // keys, by all queries of a head
    for (std::int64_t i = 0; i < s.n; ++i) seen += rules.keys_seen(i + s.m - s.n, s.m);
    Cost cost =
        streaming_cost(call, static_cast<double>(s.batch * s.heads) * seen * 2.0 * static_cast<double>(s.d + s.dv));
    cost.grows_with_cache = call.has(step_) && !rules.left;
    return cost;
}

// Whether a compiler may choose subgroups of several sizes, the fewer lanes the more registers each: on Intel's GPUs.
bool chooses_lanes(const Caps& caps) {
    return !caps.is_cpu() && caps.min_subgroup_size < 32 && caps.min_subgroup_size < caps.max_subgroup_size;
}

// 1, 4 or 8 rows, as many as the registers hold: a row takes the lane's features of v and three more registers. GPUs
// with narrow subgroups take one row: they have 64 registers a lane, and two rows of 64 features spill
// (bench/devices.py, Mali-G610). Dropout, and rules with wide heads, take registers of their own: 8 rows spill then on
// GPUs of Intel.
std::uint32_t rows_for(const OpCall& call, Part part, std::uint32_t lanes, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::int64_t there = rows_of_class(call, part);
    if (caps.max_subgroup_size <= 16 && !caps.is_cpu()) return 1;
    const std::uint32_t by_registers = std::max(1u, 32u / ceil_div(s.dv, lanes));
    const std::uint32_t by_memory = std::max(1u, (caps.max_shared_memory / 4 - lanes) / (u32(s.d) + lanes));
    const bool crowded =
        chooses_lanes(caps) &&
        (call.has(dropout_) || (s.dv > 64 && has_rules(call, rule_operands, AttentionRules(call.attrs))));
    const std::uint32_t wanted = there == 1 ? 1 : there <= 4 || crowded ? 4 : 8;
    return std::min(wanted, std::bit_floor(std::min(by_registers, by_memory)));
}

std::uint32_t lanes_for(const Caps& caps) { return std::clamp(caps.subgroup_size, 16u, 64u); }

// Launches of attention/flash.comp.
LaunchPlan flash_plan(const OpCall& call, const Caps& caps, const char* shader, std::uint32_t split) {
    const Sizes s = sizes_of(call);
    const std::uint32_t lanes = lanes_for(caps);
    const auto launch_part = [&](Part part) {
        const std::uint32_t rows = rows_for(call, part, lanes, caps);
        Launch launch = attention_launch(
            call, caps, shader,
            attention_constants<params::AttentionConstants>(call, lanes, part,
                                                            {.ROWS = rows,
                                                             .SPLIT = split,
                                                             .WIDE = key_step(s, caps, rows, split),
                                                             .EACH = ceil_div(s.dv, lanes),
                                                             .STATISTICS = call.attrs.flag("statistics"),
                                                             .COUNTS = call.attrs.flag("counts")}),
            rows, part, split);
        // Where heads are narrow, Intel's compiler takes the widest subgroups, and spills.
        constexpr std::int64_t narrow = 32;
        if (caps.subgroup_size_control && chooses_lanes(caps) && s.d <= narrow && s.dv <= narrow)
            launch.subgroup_size = caps.min_subgroup_size;
        return launch;
    };
    return attention_plan(call, caps, launch_part, split);
}

LaunchPlan launch_hard(const OpCall& call, const Caps& caps, const char* shader) {
    const Sizes s = sizes_of(call);
    std::uint32_t lanes = workgroup_size(caps, 64);
    const auto loops = [&] { return std::int64_t{ceil_div(s.m, lanes)} * (s.d + 2); };
    while (caps.ends_long_loops() && loops() > longest_loop && workgroup_size(caps, 2 * lanes) > lanes) lanes *= 2;
    require_loops(call, caps, loops());
    Launch l = attention_launch(
        call, caps, shader, attention_constants<params::AttentionHardConstants>(call, lanes, Part::all), 1, Part::all);
    return l.replace(in(sinks_), out(key_));
}

// Iterations of one invocation for 16 keys: measured up to 170, one more for each feature that is read alone, and 1400
// with 1024 features.
std::int64_t iterations_per_tile(const Sizes& s) {
    const std::int64_t width = std::max(s.d, s.dv);
    return width > 512 ? 1400 : s.d % 4 == 0 && s.dv % 4 == 0 ? 170 : 170 + width;
}

// Keys that one workgroup may walk where long loops end: a multiple of most_keys_per_split. A block mask doubles the
// iterations.
std::uint32_t keys_at_most(const Sizes& s) {
    const std::int64_t keys = longest_loop / (2 * iterations_per_tile(s)) * 16;
    return u32(std::max<std::int64_t>(most_keys_per_split, keys / most_keys_per_split * most_keys_per_split));
}

template <ShaderName shader, ShaderName hard>
LaunchPlan launch_flash(const OpCall& call, const Caps& caps) {
    if (call.attrs.flag("hard")) return launch_hard(call, caps, hard);
    const Sizes s = sizes_of(call);
    if (caps.ends_long_loops() && (s.m > keys_at_most(s) || call.attrs.flag("any_cache"))) {
        if (!call.attrs.flag("counts")) return flash_plan(call, caps, shader, keys_at_most(s));
        require_loops(call, caps, ceil_div(s.m, std::int64_t{16}) * 2 * iterations_per_tile(s));
    }
    LaunchPlan plan = flash_plan(call, caps, shader, 0);
    if (!call.attrs.flag("statistics") || is_union(call)) return plan;
    plan.scratch = {static_cast<std::uint64_t>(s.rows()) * 12};
    plan.launches.front().replace(out(lse_), scratch_out(0));
    const std::uint32_t size = workgroup_size(caps, 64);
    Launch finish{.shader = "attention_statistics",
                  .spec = params::WorkgroupConstants{.lanes = size},
                  .operands = {scratch_in(0), in(sinks_), out(lse_), out(entropy_), out(largest_)},
                  .groups = flat_grid(ceil_div(s.rows(), size), caps)};
    plan.launches.push_back(finish.with(params::AttentionStatisticsParams{
        .rows = u32(s.rows()), .n = u32(s.n), .heads = u32(s.heads), .heads_first = s.heads_first}));
    return plan;
}

bool fits_cpu_simd(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    if (!wants_sums_only(call) || !reads_floats(call)) return false;
    // Devices that would not choose it run it without rules only, for the tests: each rule compiles another pipeline.
    const bool plain = !has_rules_besides_documents(call, rule_operands, AttentionRules(call.attrs));
    // Where long loops end: measured 8744 keys with 8 features, 1888 with 64, 968 with 128, and 440 with 256.
    const std::int64_t width = std::max(s.d, s.dv);
    if (caps.ends_long_loops() && s.m > std::min<std::int64_t>(4096, 98304 / std::max<std::int64_t>(width, 1)))
        return false;
    return caps.is_cpu() && (plain || (caps.loads_uniform_once() && !call.has(dropout_))) && s.rows() > 0 &&
           s.d % 4 == 0 && s.dv % 4 == 0 && s.d <= 256 && s.dv <= 256;
}

// On CPU devices: a row a lane, tiles of as many keys as keep the unrolled kernel within an instruction cache.
LaunchPlan launch_cpu_simd(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::uint32_t lanes = 32, keys = std::max(s.d, s.dv) <= 128 ? 8 : 4;
    return attention_plan(call, caps, [&](Part part) {
        return attention_launch(call, caps, "attention_cpu_simd",
                                attention_constants<params::AttentionCpuSimdConstants>(
                                    call, lanes, part, {.KEYS = keys, .COUNTS = call.attrs.flag("counts")}),
                                lanes, part);
    });
}

template <ShaderName shader>
LaunchPlan launch_split(const OpCall& call, const Caps& caps) {
    return flash_plan(call, caps, shader, keys_per_split(caps));
}

// With few queries most of a device is idle unless the keys are split among workgroups. With the attribute `any_cache`
// the choice does not depend on the number of keys.
bool fits_split(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const double sums = static_cast<double>(s.batch * s.n * s.heads * s.dv);
    return !call.attrs.flag("hard") && !call.attrs.flag("counts") && s.n >= 1 && s.n <= 8 &&
           sums * static_cast<double>(s.m) / keys_per_split(caps) < 0x1p31 &&  // kernels count them in 32 bits
           (s.m > most_keys_per_split || call.attrs.flag("any_cache")) && s.batch >= 1 &&
           s.batch * s.kv_heads <= caps.max_workgroup_count[2] &&
           ceil_div(s.m, std::int64_t{keys_per_split(caps)}) <= caps.max_workgroup_count[0];
}

// A lane has as many features of a key as another, in whole words.
bool fits_split_cpu(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::int64_t lanes = caps.subgroup_size, step = call.in(k_).dtype == DType::f32 ? lanes : 2 * lanes;
    const bool plain = !has_rules(call, rule_operands, AttentionRules(call.attrs));
    return caps.is_cpu() && caps.subgroup_shuffle && (lanes == 4 || lanes == 8 || lanes == 16) &&
           fits_split(call, caps) && wants_sums_only(call) && reads_floats(call) && !is_union(call) &&
           !call.has(dropout_) && !AttentionRules(call.attrs).is_additive() && (plain || caps.loads_uniform_once()) &&
           s.m > 0 && s.d % step == 0 && s.dv % step == 0 && s.d <= 256 && s.dv <= 256;
}

LaunchPlan launch_split_cpu(const OpCall& call, const Caps& caps) {
    const std::uint32_t split = keys_per_split(caps), rows = rows_of_class(call, Part::all) == 1 ? 1 : 4;
    return attention_plan(
        call, caps,
        [&](Part part) {
            return attention_launch(call, caps, "attention_cpu_rows",
                                    attention_constants<params::AttentionCpuRowsConstants>(
                                        call, caps.subgroup_size, part, {.ROWS = rows, .SPLIT = split}),
                                    rows, part, split);
        },
        split);
}

Case test_case(const char* name, Shape q, Shape k, std::int64_t dv, Attrs attrs, const Case::Input& step = {},
               const std::vector<double>& kv_len = {}) {
    Shape v = k;
    v[-1] = dv;
    Case c{.name = name, .attrs = attrs, .inputs = {floats(q), floats(k), floats(v), step}};
    if (!kv_len.empty()) c.inputs.push_back(list_of(DType::i32, kv_len));
    return c;
}

Case quantized_case(const char* name, DType type, const Shape& q, const Shape& k, const Case::Input& step) {
    return {.name = name,
            .attrs = {{"causal", true}},
            .inputs = {floats_of(DType::f32, q), weights_of(type, k), weights_of(type, k), step}};
}

// Windows, masks, biases, sinks: 3 heads of 24 features that share one key head, 70 queries or few. In f32 only: rules
// do not depend on the storage; with the numbers of the oracle's cases, so that one pipeline serves both.
std::vector<Case> ruled_cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, std::int64_t n, std::int64_t m, Attrs attrs,
                         std::initializer_list<std::pair<int, Case::Input>> operands = {}) {
        Case c = test_case(name, {n, 3, 24}, {m, 1, 24}, 24, std::move(attrs));
        c.inputs.resize(11);
        for (const auto& [at, input] : operands) c.inputs[static_cast<std::size_t>(at)] = input;
        for (Case::Input& input : c.inputs) input.fixed_type = true;
        list.push_back(std::move(c));
    };
    const auto around = [](double mean, Shape shape) { return Case::Input{.type = TensorType{shape}, .low = mean}; };
    // a cache of 70 rows of which 43 are filled, the last 3 by this run of 4
    const Case::Input cache = step_of_case(40, 3);
    add("causal window", 70, 70, {{"causal", true}, {"window_left", 6}});
    // of three shares of the keys the first has the global ones, the second nothing, the last the window
    add("window of few queries, split", 2, 700,
        {{"causal", true}, {"window_left", 4}, {"window_right", 4}, {"global_tokens", 2}});
    add("two-sided window, global tokens", 70, 70, {{"window_left", 4}, {"window_right", 4}, {"global_tokens", 2}});
    add("dilated", 40, 70, {{"causal", true}, {"window_left", 12}, {"dilation", 3}});
    add("dilated both ways, global tokens", 40, 70, {{"window_right", 20}, {"dilation", 3}, {"global_tokens", 4}});
    add("dilated, split", 3, 700, {{"causal", true}, {"dilation", 5}, {"global_tokens", 1}});
    add("dilated, more classes than queries", 5, 70, {{"dilation", 9}});
    add("dilated, more queries than keys", 40, 20, {{"dilation", 3}, {"global_tokens", 2}});
    add("window and stride, causal", 70, 70, {{"causal", true}, {"window_left", 6}, {"stride", 7}});
    add("window and stride, both ways, sinks", 40, 70,
        {{"window_left", 5}, {"window_right", 3}, {"stride", 4}, {"global_tokens", 3}}, {{sinks_, floats({3})}});
    add("window and stride, split", 2, 700, {{"causal", true}, {"window_left", 9}, {"stride", 16}});
    add("dilated and stride, entropy", 70, 70,
        {{"causal", true}, {"window_left", 11}, {"dilation", 2}, {"stride", 5}, {"statistics", true}});
    add("stride, cache, bias", 4, 70,
        {{"causal", true}, {"window_left", 3}, {"stride", 8}, {"position_bias", "distance"}},
        {{step_, cache}, {position_bias_, floats({33, 3})}});
    add("stride of a long text, entropy", 12, 4500,
        {{"causal", true}, {"window_left", 60}, {"stride", 64}, {"softcap", 30.0}, {"statistics", true}});
    add("summaries, causal", 70, 70, {{"causal", true}, {"stride", 8}, {"summary_keys", 2}});
    add("summaries both ways, global tokens, blocks", 40, 70,
        {{"stride", 9}, {"summary_keys", 3}, {"global_tokens", 2}, {"block_size", 8}},
        {{block_mask_, integers_below({9, 9}, 2)}});
    add("stride, more queries than keys", 40, 20, {{"window_left", 4}, {"stride", 6}});
    add("summaries, more queries than keys", 40, 20, {{"stride", 6}, {"summary_keys", 1}});
    add("hard, window and stride", 30, 70, {{"hard", true}, {"causal", true}, {"window_left", 3}, {"stride", 8}});
    add("hard, dilated", 30, 70, {{"hard", true}, {"dilation", 4}, {"global_tokens", 2}});
    add("prefix", 70, 70, {{"causal", true}, {"prefix_len", 6}});
    add("block mask", 70, 70, {{"causal", true}, {"block_size", 8}}, {{block_mask_, integers_below({9, 9}, 2)}});
    add("blocks that count up to 4 times", 70, 70, {{"block_size", 8}}, {{block_mask_, integers_below({9, 9}, 5)}});
    add("blocks that count, hard", 30, 70, {{"block_size", 8}, {"hard", true}},
        {{block_mask_, integers_below({9, 9}, 5)}});
    add("blocks that count, split, sinks, entropy", 2, 600, {{"block_size", 64}, {"statistics", true}},
        {{block_mask_, integers_below({10, 10}, 4)}, {sinks_, floats({3})}});
    add("segments", 70, 70, {}, {{segments_, integers_below({70}, 3)}});
    add("alibi causal, sinks", 30, 70, {{"causal", true}}, {{position_bias_, around(0.2, {3})}, {sinks_, floats({3})}});
    add("alibi both ways", 30, 70, {}, {{position_bias_, around(0.2, {3})}});
    add("bias by distance", 30, 70, {{"position_bias", "distance"}}, {{position_bias_, floats({33, 3})}});
    add("cache, bias by distance", 4, 70, {{"causal", true}, {"position_bias", "distance"}},
        {{step_, cache}, {position_bias_, floats({33, 3})}});
    add("relative keys", 30, 70, {{"position_bias", "relative"}, {"reach", 9}},
        {{position_bias_, floats({19 * 30 * 3})}});
    add("relative keys, cache", 4, 70, {{"causal", true}, {"position_bias", "relative"}, {"reach", 4}},
        {{step_, cache}, {position_bias_, floats({9 * 4 * 3})}});
    add("relative keys and queries, split", 2, 600, {{"position_bias", "relative_both"}, {"reach", 5}},
        {{position_bias_, floats({11 * (2 * 3 + 600)})}});
    add("bias by key", 30, 70, {{"causal", true}, {"position_bias", "key"}}, {{position_bias_, floats({70, 3})}});
    add("additive", 30, 70, {{"position_bias", "additive"}}, {{position_bias_, floats({24})}});
    add("additive, cache, window, sinks", 4, 70,
        {{"causal", true}, {"window_left", 30}, {"position_bias", "additive"}, {"softcap", 2.0}},
        {{step_, cache}, {position_bias_, floats({24})}, {sinks_, floats({3})}});
    add("additive, split", 1, 600, {{"causal", true}, {"position_bias", "additive"}}, {{position_bias_, floats({24})}});
    add("hard", 30, 70, {{"hard", true}});
    add("hard, cache, window, bias", 4, 70,
        {{"hard", true}, {"causal", true}, {"window_left", 6}, {"position_bias", "distance"}},
        {{step_, cache}, {position_bias_, floats({17, 3})}});
    add("sinks, split", 1, 600, {{"causal", true}}, {{sinks_, around(3, {3})}});
    add("entropy, window", 70, 70, {{"causal", true}, {"window_left", 6}, {"statistics", true}});
    add("entropy, sinks, split", 1, 600, {{"causal", true}, {"statistics", true}}, {{sinks_, around(3, {3})}});
    add("entropy, window of a long text", 12, 4500,
        {{"causal", true}, {"window_left", 2500}, {"softcap", 30.0}, {"statistics", true}});
    add("entropy, cache", 4, 70, {{"causal", true}, {"statistics", true}}, {{step_, cache}, {sinks_, floats({3})}});
    add("mask by head", 17, 70, {}, {{mask_, floats({3, 17, 70})}});
    // more queries than keys: the first ones sit in front of all keys
    add("window, more queries than keys", 40, 20, {{"window_left", 4}, {"window_right", 4}, {"global_tokens", 2}});
    add("blocks, more queries than keys", 30, 20, {{"causal", true}, {"block_size", 8}},
        {{block_mask_, integers_below({3, 3}, 2)}});
    add("packed documents", 200, 200, {{"causal", true}, {"packed", true}}, {{segments_, documents_of_case(200)}});
    add("packed documents, both ways, dropout", 200, 200, {{"packed", true}},
        {{segments_, documents_of_case(200)}, {dropout_, dropout_of_case()}});
    add("packed documents, few queries, no keys", 2, 300, {{"packed", true}},
        {{segments_, documents_of_case(300)}, {kv_len_, list_of(DType::i32, {0})}});
    add("packed documents, fewer queries", 70, 200, {{"packed", true}, {"statistics", true}},
        {{segments_, documents_of_case(200)}});
    const auto fixed = [&](Case c) {
        for (Case::Input& input : c.inputs) input.fixed_type = true;
        list.push_back(std::move(c));
    };
    fixed(test_case("tiles, wide, batch, lengths", {2, 70, 2, 96}, {2, 90, 1, 96}, 128, {}, {}, {90, 0}));
    fixed(test_case("tiles, heads first, causal", {2, 2, 70, 64}, {2, 1, 70, 64}, 64,
                    {{"causal", true}, {"heads_first", true}}));
    add("window, global tokens behind the first queries", 130, 100,
        {{"window_left", 4}, {"window_right", 4}, {"global_tokens", 2}});
    add("segments, more queries than keys", 30, 20, {}, {{segments_, integers_below({20}, 2)}});
    add("cache, window", 4, 70, {{"causal", true}, {"window_left", 6}}, {{step_, cache}});
    add("cache, blocks, alibi, sinks", 4, 70, {{"causal", true}, {"block_size", 8}},
        {{step_, cache},
         {block_mask_, integers_below({9, 9}, 2)},
         {position_bias_, around(0.2, {3})},
         {sinks_, floats({3})}});
    add("lengths, dilated", 40, 70, {{"causal", true}, {"window_left", 12}, {"dilation", 3}},
        {{kv_len_, list_of(DType::i32, {51})}});
    Case sequences =
        test_case("caches of 2 sequences, window", {2, 4, 3, 24}, {2, 70, 1, 24}, 24,
                  {{"causal", true}, {"window_left", 6}}, steps_of_case({step_of_case(40, 3), step_of_case(2, 4)}));
    for (Case::Input& input : sequences.inputs) input.fixed_type = true;
    list.push_back(sequences);
    sequences.name = "caches of 2 sequences in reverse, window";
    sequences.inputs[step_] = reversed_lanes(sequences.inputs[step_]);
    list.push_back(sequences);
    Case blocks =
        test_case("caches of 2 sequences in reverse, blocks of each", {2, 40, 3, 24}, {2, 70, 1, 24}, 24,
                  {{"block_size", 8}}, reversed_lanes(steps_of_case({step_of_case(0, 40), step_of_case(0, 23)})));
    blocks.inputs.resize(10);
    blocks.inputs[block_mask_] = integers_below({2, 9, 9}, 4);
    for (Case::Input& input : blocks.inputs) input.fixed_type = true;
    list.push_back(blocks);
    Case batch = test_case("batch, heads first, segments, mask, sinks, split", {2, 3, 2, 24}, {2, 1, 300, 24}, 24,
                           {{"heads_first", true}});
    batch.inputs.resize(10);
    batch.inputs[segments_] = integers_below({2, 300}, 2);
    batch.inputs[mask_] = floats({2, 3, 2, 300});
    batch.inputs[sinks_] = floats({3});
    for (Case::Input& input : batch.inputs) input.fixed_type = true;
    list.push_back(batch);
    Case packed = test_case("batch, packed documents", {2, 100, 3, 24}, {2, 100, 1, 24}, 24,
                            {{"causal", true}, {"packed", true}});
    packed.inputs.resize(10);
    packed.inputs[segments_] = documents_of_batch(100);
    for (Case::Input& input : packed.inputs) input.fixed_type = true;
    list.push_back(packed);
    Case relative = test_case("batch, relative keys and queries", {2, 9, 4, 24}, {2, 11, 2, 24}, 24,
                              {{"position_bias", "relative_both"}, {"reach", 3}});
    relative.inputs.resize(10);
    relative.inputs[position_bias_] = floats({2 * 7 * (9 * 4 + 11 * 2)});
    for (Case::Input& input : relative.inputs) input.fixed_type = true;
    list.push_back(relative);
    add("dropout", 30, 70, {{"causal", true}}, {{dropout_, dropout_of_case()}});
    add("dropout, grouped window, sinks", 40, 70, {{"window_left", 12}, {"dilation", 3}},
        {{sinks_, floats({3})}, {dropout_, dropout_of_case()}});
    add("dropout of few queries, split", 2, 300, {}, {{dropout_, dropout_of_case()}});
    add("nothing seen", 3, 5, {{"causal", true}, {"block_size", 8}, {"statistics", true}},
        {{block_mask_, {.type = TensorType{Shape{1, 1}, DType::i32}, .fill = Case::Fill::zeros}}});
    return list;
}

std::vector<Case> cases() {
    const Attrs causal = {{"causal", true}};
    std::vector<Case> list = {
        test_case("causal n=37 d=24 dv=32 gqa", {37, 4, 24}, {37, 2, 24}, 32, causal),
        test_case("full n=5 m=70 d=17 heads_first batch", {2, 3, 5, 17}, {2, 3, 70, 17}, 17,
                  {{"heads_first", true}, {"scale", 0.3}}),
        test_case("one by one", {1, 1, 24}, {1, 1, 24}, 24, causal),
        test_case("chunk n=12 m=70", {12, 2, 64}, {70, 2, 64}, 64, causal),
        test_case("more queries than keys", {6, 1, 24}, {4, 1, 24}, 24, causal),
        test_case("d=256", {12, 1, 256}, {33, 1, 256}, 256, {}),
        test_case("cache n=4 valid=3", {4, 2, 24}, {40, 1, 24}, 24, causal, step_of_case(9, 3)),
        test_case("split over keys", {1, 4, 24}, {700, 2, 24}, 24, causal, step_of_case(530, 1)),
        test_case("cache of 3 sequences, valid 3, 0 and 4", {3, 4, 2, 24}, {3, 40, 1, 24}, 24, causal,
                  steps_of_case({step_of_case(9, 3), step_of_case(20, 0), step_of_case(36, 4)})),
        test_case("split over keys of 2 sequences", {2, 1, 4, 24}, {2, 700, 2, 24}, 24, causal,
                  steps_of_case({step_of_case(530, 1), step_of_case(40, 1)})),
        test_case("split over keys of 2 sequences in reverse", {2, 1, 4, 24}, {2, 700, 2, 24}, 24, causal,
                  reversed_lanes(steps_of_case({step_of_case(530, 1), step_of_case(40, 1)}))),
        test_case("split over the window's keys of 2 sequences", {2, 1, 4, 32}, {2, 700, 2, 32}, 32,
                  {{"causal", true}, {"window_left", 40}}, steps_of_case({step_of_case(530, 1), step_of_case(40, 1)})),
        test_case("split over an encoder's keys, sequences in reverse", {2, 1, 4, 24}, {2, 700, 2, 24}, 24, {},
                  reversed_lanes(steps_of_case({step_of_case(3, 1), step_of_case(40, 1)})), {600, 20}),
        test_case("an encoder's keys, sequences in reverse", {2, 3, 4, 24}, {2, 70, 2, 24}, 24, {},
                  reversed_lanes(steps_of_case({step_of_case(3, 2), step_of_case(40, 3)})), {60, 7}),
        test_case("chunk in a long cache", {12, 2, 24}, {4500, 1, 24}, 24, causal, step_of_case(4300, 11)),
        test_case("split without step n=7", {7, 2, 24}, {300, 2, 24}, 32, causal),
        test_case("one query, any cache", {1, 4, 24}, {40, 2, 24}, 24, {{"causal", true}, {"any_cache", true}},
                  step_of_case(30, 1)),
        test_case("chunk, any cache", {12, 2, 24}, {40, 1, 24}, 24, {{"causal", true}, {"any_cache", true}},
                  step_of_case(20, 12)),
        test_case("kv_len", {2, 4, 1, 24}, {2, 9, 1, 24}, 24, {}, {}, {5, 0}),
        quantized_case("1 query, quantized", DType::q8_0, {1, 4, 64}, {300, 2, 64}, step_of_case(250, 1)),
        quantized_case("5 queries, quantized to 4 bits", DType::q4_0, {5, 2, 32}, {70, 1, 32}, step_of_case(40, 5)),
        quantized_case("40 queries, quantized", DType::q8_0, {40, 2, 96}, {70, 2, 96}, {}),
        test_case("no keys", {3, 1, 24}, {0, 1, 24}, 24, {})};
    const std::vector<Case> ruled = ruled_cases();
    list.insert(list.end(), ruled.begin(), ruled.end());
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"split_cpu", need_subgroup | need_int64, fits_split_cpu, launch_split_cpu, loads_once},
    {"split_subgroup", need_subgroup, fits_split, launch_split<"attention_subgroup">},
    {"split", need_nothing, fits_split, launch_split<"attention">},
    {"cpu_simd", need_nothing, fits_cpu_simd, launch_cpu_simd, loads_once},
    {"coopmat2", need_coopmat | need_coopmat2 | need_fp16 | need_subgroup, fits_coopmat2, launch_coopmat2, not_on_cpu},
    {"coopmat", need_coopmat | need_fp16 | need_subgroup, fits_coopmat, launch_coopmat, not_on_cpu},
    {"tiled", need_nothing, fits_tiled, launch_tiled, tiles_profitable},
    {"subgroup", need_subgroup, every_call, launch_flash<"attention_subgroup", "attention_hard_subgroup">},
    {"plain", need_nothing, every_call, launch_flash<"attention", "attention_hard">}};

const OpDef attention_op = define_op("attention",
                                     "o = softmax(scale q k^T + mask) v in tiles, lse = ln of the denominator (Vaswani "
                                     "2017, Dao 2022); GQA: head h reads key head h / (Hq / Hk)",
                                     operand_names, infer, reference, cost, kernels, cases, attention_gradient,
                                     {.step = step_, .context_rows = {k_, v_, position_bias_}});

}  // namespace internal::ops::attention

namespace {

// o + Σ_r w_ir relative_values[r]
Tensor with_relative_values(const AttentionResult& result, Tensor q, Tensor k, Tensor bias, Attrs attrs,
                            const AttentionOptions& options, SourceLocation where) {
    const TensorType &table = options.relative_values.type(), &o = result.o.type();
    if (options.hard || options.heads_first || options.kv_len || options.step || options.dropout ||
        o.shape.rank() != 3 || table.shape.rank() != 2 || table.shape[0] % 2 == 0 || table.shape[1] != o.shape[2])
        throw Error(
            ErrorKind::usage,
            "attention: relative_values is " + table.text() + " and o " + o.text() +
                ", but must be [2 w + 1, Dv] and [n, heads, Dv]; leave out step, kv_len, hard, heads_first and dropout",
            where);
    Graph g = q.graph();
    const std::int64_t rows = o.shape[0] * o.shape[1], distances = table.shape[0];
    attrs.set("largest_distance", distances / 2);
    const Tensor weights =
        add_call(g, distance_weights_op,
                 {q, k, result.lse, options.mask, bias, options.block_mask, options.segment_ids}, attrs, where)[0];
    return g.reshape(matmul(g.reshape(weights, {rows, distances}), options.relative_values, {}, {},
                            g.reshape(result.o, {rows, o.shape[2]}), where),
                     o.shape);
}

}  // namespace

AttentionResult attention(Tensor q, Tensor k, Tensor v, AttentionOptions options, SourceLocation where) {
    const Tensor bias = position_bias_of(options, q, k, where);
    Attrs attrs = rule_attrs(options);
    if (options.heads_first) attrs.set("heads_first", true);
    if (options.keys_by_lane) attrs.set("keys_by_lane", true);
    if (options.hard) attrs.set("hard", true);
    if (options.statistics) attrs.set("statistics", true);
    const std::vector<Tensor> results =
        add_call(q.graph(), attention_op,
                 {q, k, v, options.step, options.kv_len, options.mask, bias, options.block_mask, options.segment_ids,
                  options.sinks, options.dropout},
                 attrs, where);
    using namespace ops::attention;
    AttentionResult all{.o = results[o_], .lse = results[lse_]};
    if (options.hard) all.key = results[key_];
    if (options.statistics) all.entropy = results[entropy_], all.largest = results[largest_];
    if (options.relative_values) all.o = with_relative_values(all, q, k, bias, rule_attrs(options), options, where);
    return all;
}

}  // namespace vantage
