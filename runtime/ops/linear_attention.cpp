// Attention without a softmax, linear in the length of the sequence.
//   o_i = φ(q_i)ᵀ S_i / (φ(q_i)ᵀ z_i + eps),  S_i = Σ_j φ(k_j) v_jᵀ,  z_i = Σ_j φ(k_j)
// over all j, or j ≤ i when causal, with φ(x) = elu(x) + 1 (Katharopoulos et al. 2020), or x itself where features are
// made before (Performer, Choromanski et al. 2020). With normalise = false the denominator is 1 and features may have
// any sign: φ(Q) (φ(K)ᵀ V). As a scan by chunks of 64 tokens: the sums of each chunk, those of all chunks before it,
// then every row by itself: O(n D Dv), no matrix of n × n. lse_i = ln of the denominator.
#include "runtime/ops/linear_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/zeros.h"
#include "shaders/params/linear_attention.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::linear_attention {
namespace {

constexpr std::int64_t chunk_tokens = LinearAttentionSizes::chunk_tokens;

using Sizes = LinearAttentionSizes;
Sizes sizes_of(const OpCall& call) { return linear_attention_sizes(call, q_, v_); }
bool is_elu(const OpCall& call) { return call.attrs.text("feature", "elu+1") == "elu+1"; }
bool normalises(const OpCall& call) { return call.attrs.flag("normalise", true); }
double eps_of(const OpCall& call) { return call.attrs.number("eps", 0); }

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const TensorType &q = call.in(q_), &v = call.in(v_);
    const std::string feature = call.attrs.text("feature", "elu+1");
    call.require(feature == "elu+1" || feature == "none", "feature is " + feature + ", but must be elu+1 or none");
    call.require(normalises(call) || eps_of(call) == 0,
                 format("eps is {:g}, but normalise is false: there is no denominator to add it to", eps_of(call)));
    call.require(q.shape.rank() == 3 || q.shape.rank() == 4, operand_is(call, q_) + ", but must be [n, heads, D]");
    call.require(v.shape.rank() == q.shape.rank(), operand_is(call, v_) + ", but q is " + q.text());
    require_type(call, k_, q);
    Shape like_q = q.shape;
    like_q[-1] = v.shape[-1];
    require_type(call, v_, {like_q, q.dtype});
    const Sizes s = sizes_of(call);
    check_linear_attention_sizes(call, q_, v_);
    const Shape state = q.shape.rank() == 4 ? Shape{s.batch, s.heads, s.d} : Shape{s.heads, s.d};
    const Shape outer = q.shape.rank() == 4 ? Shape{s.batch, s.heads, s.d, s.dv} : Shape{s.heads, s.d, s.dv};
    const Shape lse(q.shape.sizes().first(static_cast<std::size_t>(q.shape.rank() - 1)));
    return {v, {outer, DType::f32}, {state, DType::f32}, {lse, DType::f32}};
}

// By the definition, quadratic: that the scan agrees is what the tests are for.
void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    const auto feature = [&](double x) { return !is_elu(call) ? x : x > 0 ? x + 1 : std::exp(x); };
    for (std::int64_t head = 0; head < s.all_heads(); ++head) {
        const auto value = [&](std::int64_t j, std::int64_t e) { return in[v_][s.row(head, j) * s.dv + e]; };
        const auto features = [&](int operand) {
            std::vector<double> all;
            for (std::int64_t i = 0; i < s.n; ++i)
                for (std::int64_t d = 0; d < s.d; ++d)
                    all.push_back(feature(at(in, operand)[s.row(head, i) * s.d + d]));
            return all;
        };
        const std::vector<double> queries = features(q_), keys = features(k_);
        for (std::int64_t i = 0; i < s.n; ++i) {
            double denominator = normalises(call) ? eps_of(call) : 1;
            std::vector<double> sums(static_cast<std::size_t>(s.dv));
            for (std::int64_t j = 0; j < (call.attrs.flag("causal") ? i + 1 : s.n); ++j) {
                double weight = 0;
                for (std::int64_t d = 0; d < s.d; ++d) weight += at(queries, i * s.d + d) * at(keys, j * s.d + d);
                if (normalises(call)) denominator += weight;
                for (std::int64_t e = 0; e < s.dv; ++e) at(sums, e) += weight * value(j, e);
            }
            for (std::int64_t e = 0; e < s.dv; ++e)
                out[o_][s.row(head, i) * s.dv + e] = denominator <= 0 ? 0 : at(sums, e) / denominator;
            out[lse_][s.row(head, i)] =
                denominator <= 0 ? -std::numeric_limits<double>::infinity() : std::log(denominator);
        }
        for (std::int64_t d = 0; d < s.d; ++d)
            for (std::int64_t j = 0; j < s.n; ++j) {
                const double key = at(keys, j * s.d + d);
                const std::int64_t cell = head * s.d + d;
                out[state_k_][cell] += key;
                for (std::int64_t e = 0; e < s.dv; ++e) out[state_kv_][cell * s.dv + e] += key * value(j, e);
            }
    }
}

std::vector<Tensor> gradient(const GradientCall& g) {
    const Tensor &q = g.inputs[q_], &dout = g.gradients[o_];
    Graph graph = q.graph();
    Attrs attrs = g.call.attrs;
    attrs.erase("counts");
    return add_call(graph, linear_attention_backward_op,
                    {dout ? dout : zeros(graph, g.outputs[o_].shape(), g.where), q, g.inputs[k_], g.inputs[v_],
                     g.outputs[o_], g.outputs[lse_], g.gradients[lse_], g.gradients[state_kv_], g.gradients[state_k_]},
                    attrs, g.where);
}

Cost cost(const OpCall& call) {
    const Sizes s = sizes_of(call);
    const double rows = static_cast<double>(s.batch * s.heads * s.n), state = static_cast<double>(s.d * (s.dv + 1)),
                 near = call.attrs.flag("causal") ? 0.5 * chunk_tokens * static_cast<double>(s.d + s.dv) : 0;
    return streaming_cost(call, 2 * rows * (2 * state + near));
}

template <ShaderName rows_shader>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::uint32_t lanes = workgroup_size(caps, 64), type = storage_of(call, q_), feature = is_elu(call) ? 1 : 0;
    const bool causal = call.attrs.flag("causal");
    const std::int64_t chunks = s.chunks();
    const params::LinearAttentionParams all{.n = u32(s.n),
                                            .batch = u32(s.batch),
                                            .heads = u32(s.heads),
                                            .d = u32(s.d),
                                            .dv = u32(s.dv),
                                            .chunks = u32(chunks),
                                            .causal = causal,
                                            .heads_first = s.heads_first,
                                            .eps = static_cast<float>(eps_of(call))};
    const Operand sums{Operand::scratch, 0, Operand::reads_writes};
    LaunchPlan plan;
    plan.scratch = {static_cast<std::uint64_t>(s.cells() * chunks) * 4};
    Launch first{.shader = "linear_attention_sums",
                 .spec =
                     params::LinearAttentionConstants{
                         .lanes = lanes, .X_TYPE = type, .FEATURE = feature, .CHUNK = u32(chunk_tokens)},
                 .operands = {in(q_), in(k_), in(v_), scratch_out(0)},
                 .groups = flat_grid(s.batch * s.heads * chunks, caps)};
    Launch second{.shader = "linear_attention_scan",
                  .spec = params::WorkgroupConstants{.lanes = lanes},
                  .operands = {sums, out(state_kv_), out(state_k_)},
                  .groups = flat_grid(ceil_div(s.cells(), lanes), caps)};
    Launch third{.shader = rows_shader,
                 .spec = params::LinearAttentionRowsConstants{.lanes = lanes,
                                                              .X_TYPE = type,
                                                              .FEATURE = feature,
                                                              .CHUNK = u32(chunk_tokens),
                                                              .D = u32(s.d),
                                                              .COUNTS = call.attrs.flag("counts"),
                                                              .NORMALISE = normalises(call)},
                 .operands = {in(q_), in(k_), in(v_), scratch_in(0), out(o_), out(lse_)},
                 .groups = flat_grid(s.batch * s.heads * s.n, caps)};
    plan.launches = {
        first.with(all),
        second.with(params::LinearAttentionScanParams{
            .cells = u32(s.cells()), .d = u32(s.d), .dv = u32(s.dv), .chunks = u32(chunks), .causal = causal}),
        third.with(all)};
    return plan;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, Shape q, std::int64_t dv, Attrs attrs) {
        Shape v = q;
        v[-1] = dv;
        const bool positive = attrs.has("feature") && attrs.flag("normalise", true);  // features made before
        const Case::Input x{
            .type = TensorType{q}, .fill = positive ? Case::Fill::uniform : Case::Fill::normal, .low = 0, .high = 1};
        list.push_back({.name = name, .attrs = std::move(attrs), .inputs = {x, x, floats(v)}});
    };
    add("causal n=200, over chunks", {200, 2, 12}, 15, {{"causal", true}});
    add("causal n=128, whole chunks", {128, 2, 12}, 15, {{"causal", true}});
    add("full n=130", {130, 3, 12}, 8, {});
    add("batch, heads first", {2, 2, 70, 12}, 8, {{"causal", true}, {"heads_first", true}, {"eps", 1e-3}});
    add("made features", {65, 1, 12}, 15, {{"causal", true}, {"feature", "none"}});
    for (Case::Input& input : list.back().inputs) input.fixed_type = true;
    add("not normalised, signed features", {130, 2, 12}, 15, {{"feature", "none"}, {"normalise", false}});
    add("not normalised, causal", {2, 2, 130, 12}, 8,
        {{"causal", true}, {"heads_first", true}, {"feature", "none"}, {"normalise", false}});
    add("not normalised, elu+1", {70, 1, 12}, 8, {{"causal", true}, {"normalise", false}});
    list.push_back({.name = "not normalised, features of only zeros",
                    .attrs = {{"feature", "none"}, {"normalise", false}},
                    .inputs = {filled_with(TensorType{Shape{3, 1, 2}}, std::vector<double>(6)), floats({3, 1, 2}),
                               floats({3, 1, 4})}});
    add("one token, more features than lanes", {1, 1, 70}, 67, {{"causal", true}});
    add("no tokens", {0, 2, 12}, 8, {});
    add("no tokens, not normalised", {0, 2, 12}, 8, {{"causal", true}, {"normalise", false}});
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {{"subgroup", need_subgroup, every_call, launch<"linear_attention_rows_subgroup">},
                                     {"plain", need_nothing, every_call, launch<"linear_attention_rows">}};

const OpDef linear_attention_op = define_op(
    "linear_attention",
    "o_i = phi(q_i)^T sum phi(k_j) v_j^T / phi(q_i)^T sum phi(k_j), or without the denominator; a scan by chunks "
    "(Katharopoulos et al. 2020)",
    operand_names, infer, reference, cost, kernels, cases, gradient);

}  // namespace internal::ops::linear_attention

namespace internal {

LinearAttentionSizes linear_attention_sizes(const OpCall& call, int q, int v) {
    const Shape& shape = call.in(q).shape;
    const bool first = call.attrs.flag("heads_first");
    return {.batch = shape.rank() == 4 ? shape[0] : 1,
            .n = first ? shape[-2] : shape[-3],
            .heads = first ? shape[-3] : shape[-2],
            .d = shape[-1],
            .dv = call.in(v).shape[-1],
            .heads_first = first,
            .causal = call.attrs.flag("causal")};
}

void check_linear_attention_sizes(const OpCall& call, int q, int v) {
    const LinearAttentionSizes s = linear_attention_sizes(call, q, v);
    call.require(s.d > 0 && s.d <= 1024 && s.dv > 0 && s.dv <= 1024,
                 "q is " + call.in(q).text() + " and v " + call.in(v).text() + ": 1 to 1024 features are wanted");
    call.require(s.cells() * s.chunks() < std::int64_t{1} << 31,
                 operand_is(call, q) + ": the sums of its chunks would be more than 2^31 numbers");
}

}  // namespace internal

LinearAttentionResult linear_attention(Tensor q, Tensor k, Tensor v, LinearAttentionOptions options,
                                       SourceLocation where) {
    Attrs attrs{{"eps", options.eps}};
    if (options.causal) attrs.set("causal", true);
    if (options.heads_first) attrs.set("heads_first", true);
    if (!options.elu) attrs.set("feature", "none");
    if (!options.normalise) attrs.set("normalise", false);
    const std::vector<Tensor> results = add_call(q.graph(), linear_attention_op, {q, k, v}, attrs, where);
    return {results[ops::linear_attention::o_], results[ops::linear_attention::state_kv_],
            results[ops::linear_attention::state_k_], results[ops::linear_attention::lse_]};
}

}  // namespace vantage
