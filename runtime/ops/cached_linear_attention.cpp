// Attention without a softmax to the keys of a cache, for models: with a step, grouped heads, and keys in the storage
// of the cache.
//   o_i = Σ_j w_ij v_j / Σ_j w_ij,  w_ij = e^(l_j) φ(q_i)·φ(k_j),  lse_i = ln Σ_j w_ij
// over the keys that the step has, those up to i's own position when causal (Katharopoulos et al. 2020). l_j is 0, or
// key_log: features whose size no f16 holds are kept as shares and their logarithm (Performer, Choromanski et al.
// 2020). The sums of the keys before a run are made from the cache each time, in chunks of 64 tokens that count from
// the first key: O(keys D Dv) for a run, nothing to keep or to take back, and a row's result does not depend on the run
// that it is in.
#include "runtime/ops/cached_linear_attention.h"

#include <cmath>
#include <limits>

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/step.h"
#include "shaders/params/linear_attention.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::cached_linear_attention {
namespace {

constexpr std::int64_t chunk_tokens = 64;
constexpr std::int64_t most_chunks = 400;  // of a launch on a device that ends long loops: 2 · 64 + 1 iterations each

struct Sizes {
    std::int64_t batch, n, m, heads, kv_heads, d, dv;
    bool causal;
    // Chunks that the rows of a run may lie in.
    std::int64_t run_slots() const { return causal ? (n + chunk_tokens - 2) / chunk_tokens + 1 : 1; }
    // And two that launches leave sums in, in turn.
    std::int64_t slots() const { return run_slots() + 2; }
    std::int64_t chunks() const { return (m + chunk_tokens - 1) / chunk_tokens; }
    std::int64_t cells() const { return d * (dv + 1); }
    std::int64_t scratch() const { return batch * kv_heads * slots() * (cells() + 1); }
};
Sizes sizes_of(const OpCall& call) {
    const Shape &q = call.in(q_).shape, &k = call.in(k_).shape;
    return {.batch = q.rank() == 4 ? q[0] : 1,
            .n = q[-3],
            .m = k[-3],
            .heads = q[-2],
            .kv_heads = k[-2],
            .d = q[-1],
            .dv = call.in(v_).shape[-1],
            .causal = call.attrs.flag("causal")};
}
bool is_elu(const OpCall& call) { return call.attrs.text("feature", "elu+1") == "elu+1"; }

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &q = call.in(q_), &k = call.in(k_), &v = call.in(v_);
    const std::string feature = call.attrs.text("feature", "elu+1");
    call.require(feature == "elu+1" || feature == "none", "feature is " + feature + ", but must be elu+1 or none");
    const int rank = q.shape.rank();
    call.require(rank == 3 || rank == 4, operand_is(call, q_) + ", but must be [(batch,) n, heads, D]");
    for (const int i : {q_, k_, v_})
        call.require(is_float(call.in(i).dtype), operand_is(call, i) + ", but must be f32, f16 or bf16");
    call.require(k.shape.rank() == rank && v.shape.rank() == rank && k.dtype == v.dtype,
                 operand_is(call, k_) + " and " + operand_is(call, v_) + ", but q is " + q.text());
    const Sizes s = sizes_of(call);
    call.require(s.d > 0 && s.d <= 1024 && s.dv > 0 && s.dv <= 1024,
                 "q is " + q.text() + " and v " + v.text() + ": 1 to 1024 features are wanted");
    call.require(k.shape[-1] == s.d && s.kv_heads > 0 && s.heads % s.kv_heads == 0 && s.n > 0 &&
                     (rank == 3 || k.shape[0] == s.batch),
                 operand_is(call, k_) + ", but q is " + q.text());
    Shape like_k = k.shape;
    like_k[-1] = s.dv;
    require_shape(call, v_, like_k);
    require_step(call, step_);
    call.require(call.has(step_) && sequences_of(call, step_) == s.batch,
                 "a step for each of a batch is wanted, but q is " + q.text());
    const auto but_last = [](const Shape& shape) {
        return Shape(shape.sizes().first(static_cast<std::size_t>(shape.rank() - 1)));
    };
    require_type(call, key_log_, {but_last(k.shape), DType::f32});
    call.require(s.scratch() < std::int64_t{1} << 31 && k.shape.elements() < std::int64_t{1} << 32 &&
                     v.shape.elements() < std::int64_t{1} << 32,
                 operand_is(call, k_) + ": more sums than 2^31 or more elements than 2^32");
    Shape o = q.shape;
    o[-1] = s.dv;
    return {{o, q.dtype}, {but_last(q.shape), DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    const auto feature = [&](double x) { return !is_elu(call) ? x : x > 0 ? x + 1 : std::exp(x); };
    for (std::int64_t row = 0; row < s.batch * s.n * s.heads; ++row) {
        const std::int64_t head = row % s.heads, i = row / s.heads % s.n, lane = row / s.heads / s.n,
                           kv_head = head / (s.heads / s.kv_heads), sequence = sequence_of(in[step_], lane),
                           position = word(in[step_], STEP_POSITION, lane) + i;
        const std::int64_t held = std::min(word(in[step_], STEP_KEYS, lane), s.m),
                           keys = i >= word(in[step_], STEP_VALID, lane) ? 0
                                  : s.causal                             ? std::min(held, position + 1)
                                                                         : held;
        double denominator = 0;
        std::vector<double> sums(static_cast<std::size_t>(s.dv));
        for (std::int64_t j = 0; j < keys; ++j) {
            const std::int64_t key = (sequence * s.m + j) * s.kv_heads + kv_head;
            double weight = 0;
            for (std::int64_t d = 0; d < s.d; ++d)
                weight += feature(in[q_][row * s.d + d]) * feature(in[k_][key * s.d + d]);
            if (call.has(key_log_)) weight *= std::exp(in[key_log_][key]);
            denominator += weight;
            for (std::int64_t e = 0; e < s.dv; ++e) at(sums, e) += weight * in[v_][key * s.dv + e];
        }
        for (std::int64_t e = 0; e < s.dv; ++e)
            out[o_][row * s.dv + e] = denominator <= 0 ? 0 : at(sums, e) / denominator;
        out[lse_][row] = denominator <= 0 ? -std::numeric_limits<double>::infinity() : std::log(denominator);
    }
}

Cost cost(const OpCall& call) {
    const Sizes s = sizes_of(call);
    const double state = static_cast<double>(s.cells()), keys = static_cast<double>(s.batch * s.kv_heads * s.m),
                 rows = static_cast<double>(s.batch * s.heads * s.n),
                 near = s.causal ? 0.5 * chunk_tokens * static_cast<double>(s.d + s.dv) : 0;
    Cost cost = streaming_cost(call, 2 * (keys * state + rows * (state + near)));
    cost.grows_with_cache = true;
    return cost;
}

template <ShaderName rows_shader>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::uint32_t lanes = workgroup_size(caps, 64), feature = is_elu(call) ? 1 : 0;
    params::CachedLinearAttentionParams all{.n = u32(s.n),
                                            .m = u32(s.m),
                                            .batch = u32(s.batch),
                                            .heads = u32(s.heads),
                                            .kv_heads = u32(s.kv_heads),
                                            .d = u32(s.d),
                                            .dv = u32(s.dv),
                                            .slots = u32(s.slots()),
                                            .causal = s.causal};
    LaunchPlan plan;
    plan.scratch = {static_cast<std::uint64_t>(s.scratch()) * 4};
    Launch sums{.shader = "cached_linear_attention_sums",
                .spec = params::CachedLinearAttentionConstants{.lanes = lanes,
                                                               .Q_TYPE = storage_of(call.in(q_).dtype),
                                                               .KV_TYPE = storage_of(call.in(k_).dtype),
                                                               .FEATURE = feature,
                                                               .CHUNK = u32(chunk_tokens)},
                .operands = {in(q_), in(k_), in(v_), in(step_), in(key_log_), scratch_out(0)},
                .groups = flat_grid(ceil_div(s.batch * s.kv_heads * s.cells(), lanes), caps)};
    Launch rows{.shader = rows_shader,
                .spec = params::CachedLinearAttentionRowsConstants{.lanes = lanes,
                                                                   .Q_TYPE = storage_of(call.in(q_).dtype),
                                                                   .KV_TYPE = storage_of(call.in(k_).dtype),
                                                                   .FEATURE = feature,
                                                                   .CHUNK = u32(chunk_tokens),
                                                                   .D = u32(s.d)},
                .operands = {in(q_), in(k_), in(v_), in(step_), in(key_log_), scratch_in(0), out(o_), out(lse_)},
                .groups = flat_grid(s.batch * s.n * s.heads, caps)};
    const std::int64_t each = caps.ends_long_loops() ? most_chunks : std::max<std::int64_t>(s.chunks(), 1);
    for (std::int64_t first = 0, turn = 0; first == 0 || first < s.chunks(); first += each, ++turn) {
        all.first_chunk = u32(first), all.end_chunk = u32(first + each);
        all.sums_before = u32(s.run_slots() + turn % 2), all.sums_after = u32(s.run_slots() + (turn + 1) % 2);
        plan.launches.push_back(sums.with(all));
    }
    plan.launches.push_back(rows.with(all));
    return plan;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    // 4 query heads that share 2 key heads; a cache of 200 rows
    const auto add = [&](const char* name, std::int64_t n, std::int64_t dv, Attrs attrs, const Case::Input& step,
                         bool logs = false) {
        const bool positive = attrs.has("feature");
        const Case::Fill fill = positive ? Case::Fill::uniform : Case::Fill::normal;
        const std::int64_t batch = step.type->shape.rank() == 2 ? step.type->shape[0] : 1;
        const auto shape = [&](std::int64_t rows, std::int64_t heads, std::int64_t width) {
            return step.type->shape.rank() == 2 ? Shape{batch, rows, heads, width} : Shape{rows, heads, width};
        };
        Case c{.name = name,
               .attrs = std::move(attrs),
               .inputs = {{.type = TensorType{shape(n, 4, 12)}, .fill = fill},
                          {.type = TensorType{shape(200, 2, 12)}, .fill = fill},
                          floats(shape(200, 2, dv)),
                          step}};
        const Shape keys = batch > 1 ? Shape{batch, 200, 2} : Shape{200, 2};
        if (logs) c.inputs.push_back({.type = TensorType{keys}, .low = -100, .high = 9, .fixed_type = true});
        list.push_back(std::move(c));
    };
    const Attrs causal = {{"causal", true}};
    const auto made = [](bool is_causal) {
        return is_causal ? Attrs{{"causal", true}, {"feature", "none"}} : Attrs{{"feature", "none"}};
    };
    add("causal, one query", 1, 15, causal, step_of_case(130, 1));
    add("causal, first of a chunk", 1, 15, causal, step_of_case(128, 1));
    add("causal, over chunks, padding", 70, 15, causal, step_of_case(61, 68));
    add("all keys", 40, 8, {}, step_of_case(0, 38));
    add("causal, logarithms", 9, 12, made(true), step_of_case(125, 9), true);
    add("all keys, logarithms", 70, 12, made(false), step_of_case(0, 70), true);
    const Case::Input steps = steps_of_case({step_of_case(9, 3), step_of_case(20, 0), step_of_case(126, 4)});
    add("caches of 3 sequences, valid 3, 0 and 4", 4, 8, causal, steps);
    add("caches of 3 sequences in reverse, logarithms", 4, 8, made(true), reversed_lanes(steps), true);
    for (const bool is_causal : {true, false}) {  // more keys than a launch takes on a device that ends long loops
        Case c{.name = is_causal ? "a long cache, causal" : "a long cache, all keys, logarithms",
               .attrs = is_causal ? causal : made(false),
               .inputs = {floats({3, 2, 4}), floats({26000, 1, 4}), floats({26000, 1, 3}), step_of_case(25990, 3)}};
        if (!is_causal) {
            for (const int i : {0, 1}) c.inputs[static_cast<std::size_t>(i)].fill = Case::Fill::uniform;
            c.inputs.push_back({.type = TensorType{Shape{26000, 1}}, .low = -100, .high = 9, .fixed_type = true});
        }
        list.push_back(std::move(c));
    }
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"subgroup", need_subgroup, every_call, launch<"cached_linear_attention_rows_subgroup">},
    {"plain", need_nothing, every_call, launch<"cached_linear_attention_rows">}};

const OpDef cached_linear_attention_op =
    define_op("cached_linear_attention",
              "o_i = sum_j w_ij v_j / sum_j w_ij, w_ij = e^(l_j) phi(q_i)^T phi(k_j), over the keys of a cache "
              "(Katharopoulos et al. 2020; Choromanski et al. 2020)",
              operand_names, infer, reference, cost, kernels, cases, of_a_state,
              {.step = step_, .context_rows = {k_, v_, key_log_}});

}  // namespace internal::ops::cached_linear_attention

CachedLinearAttentionResult cached_linear_attention(Tensor q, Tensor k, Tensor v, Tensor step,
                                                    CachedLinearAttentionOptions options, SourceLocation where) {
    Attrs attrs;
    if (options.causal) attrs.set("causal", true);
    if (!options.elu) attrs.set("feature", "none");
    using namespace ops::cached_linear_attention;
    const std::vector<Tensor> results =
        add_call(q.graph(), cached_linear_attention_op, {q, k, v, step, options.key_log}, attrs, where);
    return {.o = results[o_], .lse = results[lse_]};
}

}  // namespace vantage
