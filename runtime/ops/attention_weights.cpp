// The tap: attention weights of one head for a window of rows and keys, from the q, k and lse of the flash kernel.
//   p_ij = exp(s_ij - lse_i), 0 where masked; s_ij = scale q_i·k_j and the rules (attention_rules.h)
// Of linear attention with features φ (linear_attention.cpp): p_ij = φ(q_i)·φ(k_j) exp(bias_ij - lse_i). With feature
// "scores" q [n, heads, m] are the scores s_ij themselves (alignment.cpp). Of hard attention p_ij is 1 for the key
// whose number lse_i is, else 0.
// Each weight costs one dot product and is exact. Only the requested window is stored.
#include "runtime/ops/attention_weights.h"

#include "runtime/base/format.h"
#include "runtime/ops/attention_rules.h"
#include "runtime/ops/checks.h"
#include "shaders/params/attention.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::attention_weights {
namespace {

constexpr RuleOperands rule_operands{
    .mask = mask_, .position_bias = position_bias_, .block_mask = block_mask_, .segments = segments_};

RuleSizes sizes_of(const OpCall& call) { return recorded_sizes(call.in(q_).shape, call.in(k_).shape); }

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &q = call.in(q_), &k = call.in(k_);
    check_recorded(call, q, k, lse_);
    feature_of(call);
    check_rule_operands(call, rule_operands, sizes_of(call), AttentionRules(call.attrs));
    const Attrs& a = call.attrs;
    const auto inside = [&](const char* what, std::int64_t first, std::int64_t count, std::int64_t limit) {
        call.require(first >= 0 && first <= limit, format("{} from {} on, but there are {}", what, first, limit));
        call.require(count >= 0 && count <= limit - first,
                     format("{} {} from {} on, but there are {}", count, what, first, limit));
    };
    const std::int64_t head = a.integer("head"), heads = q.shape[1];
    call.require(head >= 0 && head < heads, format("head {} is outside of 0 … {}", head, heads - 1));
    inside("rows", a.integer("first_row"), a.integer("rows"), q.shape[0]);
    inside("keys", a.integer("first_key"), a.integer("keys"), k.shape[0]);
    constexpr std::int64_t far = std::int64_t{1} << 30;
    call.require(a.integer("position") >= -far && a.integer("position") <= far, "position is out of all bounds");
    return {{Shape{a.integer("rows"), a.integer("keys")}, DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Attrs& a = call.attrs;
    const std::int64_t head = a.integer("head"), keys = a.integer("keys");
    for (std::int64_t r = 0; r < a.integer("rows"); ++r)
        for (std::int64_t c = 0; c < keys; ++c) {
            const std::int64_t row = a.integer("first_row") + r, key = a.integer("first_key") + c;
            out[0][r * keys + c] =
                recorded_weight(call, in, rule_operands, sizes_of(call), head, row, a.integer("position") + row, key)
                    .value_or(0);
        }
}

Cost cost(const OpCall& call) {
    return streaming_cost(call, 2.0 * static_cast<double>(call.out(0).shape.elements() * call.in(q_).shape[2]));
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Attrs& a = call.attrs;
    const Shape &q = call.in(q_).shape, &k = call.in(k_).shape;
    const std::uint32_t lanes = workgroup_size(caps, 64);
    params::AttentionWeightsConstants constants{.lanes = lanes,
                                                .Q_TYPE = storage_of(call.in(q_).dtype),
                                                .K_TYPE = storage_of(call.in(k_).dtype),
                                                .STEP = step_of(q[2]),
                                                .FEATURE = static_cast<std::uint32_t>(feature_of(call))};
    set_rules(constants, call, rule_operands);
    Launch l{
        .shader = "attention_weights",
        .spec = constants,
        .operands = {in(q_), in(k_), in(lse_), in(mask_), in(position_bias_), in(block_mask_), in(segments_), out(0)},
        .groups = flat_grid(ceil_div(call.out(0).shape.elements(), lanes), caps)};
    return l.with(params::AttentionWeightsParams{.n = u32(q[0]),
                                                 .m = u32(k[0]),
                                                 .heads = u32(q[1]),
                                                 .kv_heads = u32(k[1]),
                                                 .head = u32(a.integer("head")),
                                                 .d = u32(q[2]),
                                                 .causal = a.flag("causal"),
                                                 .first_row = u32(a.integer("first_row")),
                                                 .rows = u32(a.integer("rows")),
                                                 .first_key = u32(a.integer("first_key")),
                                                 .keys = u32(a.integer("keys")),
                                                 .position = static_cast<std::uint32_t>(a.integer("position")),
                                                 .scale = static_cast<float>(scale_of(call, q_))});
}

std::vector<Case> cases() {
    const auto one = [](const char* name, std::int64_t heads, std::int64_t kv_heads, std::int64_t width, Attrs attrs) {
        // lse large enough that weights stay below 1
        return Case{.name = name,
                    .attrs = attrs,
                    .inputs = {floats({12, heads, width}),
                               floats({20, kv_heads, width}),
                               {.type = TensorType{Shape{12, heads}}, .low = 4, .high = 0.5, .fixed_type = true}}};
    };
    Case hard = one("hard", 2, 1, 8, {{"head", 1}, {"rows", 12}, {"keys", 20}, {"feature", "hard"}}),
         made = one("features made before, logarithms of keys", 4, 2, 8,
                    {{"head", 3}, {"rows", 12}, {"keys", 20}, {"feature", "none"}, {"position_bias", "key_log"}}),
         additive = one("additive", 2, 1, 24, {{"head", 1}, {"rows", 12}, {"keys", 20}, {"position_bias", "additive"}}),
         counted = one("blocks that count up to 3 times", 2, 1, 8,
                       {{"head", 1}, {"rows", 12}, {"keys", 20}, {"block_size", 4}, {"position", 3}});
    counted.inputs.resize(segments_ + 1);
    counted.inputs[block_mask_] = integers_below({1, 5, 5}, 4);
    hard.inputs[lse_] = integers_below({12, 2}, 20);
    hard.inputs[lse_].type->dtype = DType::f32, hard.inputs[lse_].fixed_type = true;
    for (Case* c : {&made, &additive}) {
        c->inputs.resize(segments_ + 1);
        c->inputs[position_bias_] = floats(c == &made ? Shape{20, 2} : Shape{24});
        c->inputs[position_bias_].fixed_type = true;
    }
    for (const int i : {q_, k_}) made.inputs[static_cast<std::size_t>(i)].fill = Case::Fill::uniform;
    return {
        one("causal window", 4, 2, 24,
            {{"head", 3},
             {"first_row", 2},
             {"rows", 9},
             {"first_key", 1},
             {"keys", 17},
             {"causal", true},
             {"position", 5}}),
        one("all keys", 1, 1, 8, {{"head", 0}, {"rows", 12}, {"keys", 20}}),
        one("linear attention, causal", 2, 1, 8,
            {{"head", 1}, {"rows", 12}, {"keys", 20}, {"causal", true}, {"feature", "elu+1"}}),
        one("scores in place of queries", 2, 2, 20, {{"head", 1}, {"rows", 12}, {"keys", 20}, {"feature", "scores"}}),
        hard,
        made,
        additive,
        counted,
        one("nothing", 1, 1, 8, {{"head", 0}, {"rows", 0}, {"keys", 20}})};
}

}  // namespace

const OpDef attention_weights_op =
    define_op("attention_weights", "p_ij = exp(s_ij - lse_i) for a window of rows and keys of one head", operand_names,
              infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_display);

}  // namespace internal::ops::attention_weights

namespace {

void set_window(Attrs& attrs, const AttentionWindow& w, const Tensor& q, const Tensor& k) {
    const auto count = [](std::int64_t wanted, std::int64_t first, const Tensor& all) {
        const bool rest = wanted == -1 && all && all.shape().rank() > 0 && first >= 0 && first <= all.shape()[0];
        return rest ? all.shape()[0] - first : wanted;
    };
    for (const auto& [name, value] : {std::pair{"head", w.head},
                                      {"first_row", w.first_row},
                                      {"rows", count(w.rows, w.first_row, q)},
                                      {"first_key", w.first_key},
                                      {"keys", count(w.keys, w.first_key, k)},
                                      {"position", w.position}})
        attrs.set(name, value);
}

}  // namespace

Tensor attention_weights(Tensor q, Tensor k, Tensor lse, AttentionWindow w, const AttentionOptions& options,
                         SourceLocation where) {
    if (options.hard)
        throw Error(ErrorKind::usage, "attention_weights: hard attention has one weight, of the key whose score is lse",
                    where);
    if (options.heads_first || options.kv_len)
        throw Error(ErrorKind::usage,
                    "attention_weights: heads_first and kv_len are not supported; give q and k as [n, heads, D]",
                    where);
    Attrs attrs = rule_attrs(options);
    set_window(attrs, w, q, k);
    return add_call(
        q.graph(), attention_weights_op,
        {q, k, lse, options.mask, position_bias_of(options, q, k, where), options.block_mask, options.segment_ids},
        attrs, where)[0];
}

Tensor linear_attention_weights(Tensor q, Tensor k, Tensor lse, AttentionWindow w, LinearAttentionOptions options,
                                SourceLocation where) {
    if (options.heads_first)
        throw Error(ErrorKind::usage, "linear_attention_weights: keys and queries are wanted tokens first", where);
    Attrs attrs{{"feature", options.elu ? "elu+1" : "none"}};
    if (options.causal) attrs.set("causal", true);
    set_window(attrs, w, q, k);
    return add_call(q.graph(), attention_weights_op, {q, k, lse}, attrs, where)[0];
}

}  // namespace vantage
