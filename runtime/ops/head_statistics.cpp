// Statistics of heads: for each row sums and maxima of its weights, for each key what it receives.
//   p_ij = exp(s_ij - lse_i) factor_j, s_ij = scale q_i·k_j and the rules (attention_rules.h)
// Query i is at position i, or in cross-attention has no position among the keys. shaders/params/head_statistics.h
// lists the numbers. The sums for previous, duplicate and induction heads are those of TransformerLens's head detector
// with its error measure "mul" (Nanda & Bloom 2022) before the mean over rows; induction heads are Olsson et al. 2022.
// Weights are made one by one, twice: by rows and by keys; no matrix of them is held.
#include "runtime/ops/head_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/ops/attention_rules.h"
#include "runtime/ops/checks.h"
#include "shaders/params/head_statistics.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::head_statistics {
namespace {

constexpr RuleOperands rule_operands{
    .mask = mask_, .position_bias = position_bias_, .block_mask = block_mask_, .segments = segments_};

struct Sizes {
    std::int64_t n, m, heads, kv_heads, width, first_row, rows, keys, columns;
    bool apart;
    explicit Sizes(const OpCall& call)
        : n(call.in(q_).shape[0]),
          m(call.in(k_).shape[0]),
          heads(call.in(q_).shape[1]),
          kv_heads(call.in(k_).shape[1]),
          width(call.in(q_).shape[2]),
          first_row(call.attrs.integer("first_row")),
          rows(call.attrs.integer("rows")),
          keys(call.attrs.integer("keys")),
          columns(call.attrs.integer("columns")),
          apart(call.attrs.flag("apart")) {}
    RuleSizes rules() const {
        return {.batch = 1, .heads = heads, .n = n, .m = m, .kv_heads = kv_heads, .width = width};
    }
};

std::vector<TensorType> infer(const OpCall& call) {
    check_recorded(call, call.in(q_), call.in(k_), lse_);
    feature_of(call);
    const Sizes s(call);
    require_type(call, tokens_, {Shape{s.apart ? s.m + s.n : s.m, 2}, DType::i32});
    call.require(!s.apart || !call.attrs.flag("causal"),
                 "causal and apart are both set, but queries of another text have no position among the keys");
    call.require(s.columns >= 0, format("{} patches in a row", s.columns));
    require_type(call, factors_, {Shape{s.m, s.heads}, DType::f32});
    check_rule_operands(call, rule_operands, s.rules(), AttentionRules(call.attrs));
    call.require(s.first_row >= 0 && s.rows >= 0 && s.first_row <= s.n && s.rows <= s.n - s.first_row,
                 format("rows {} … are {}, but q has {}", s.first_row, s.rows, s.n));
    // a query finds itself among the tokens, unless it is of another text
    call.require(s.keys >= 0 && s.keys <= s.m && (s.apart || s.first_row + s.rows <= s.m),
                 format("{} keys and rows up to {}, but k has {}", s.keys, s.first_row + s.rows, s.m));
    return {{Shape{s.rows, s.heads, ROW_NUMBERS}, DType::f32}, {Shape{KEY_NUMBERS, s.heads, s.keys}, DType::f32}};
}

// ---- the specification ----------------------------------------------------------------------------------------------

/// Nothing where the key is not seen.
std::optional<double> weight_of(const OpCall& call, std::span<const HostTensor> in, std::int64_t head, std::int64_t row,
                                std::int64_t key) {
    const Sizes s(call);
    const std::optional<double> p = recorded_weight(call, in, rule_operands, s.rules(), head, row, row, key);
    if (!p || !call.has(factors_)) return p;
    return *p * in[factors_][key * s.heads + head];
}

/// The tokens, and how queries and keys lie to each other.
struct Text {
    const HostTensor& tokens;
    const Sizes& s;
    bool in_line() const { return !s.apart && s.columns == 0; }
    bool same(std::int64_t i, std::int64_t j) const { return in_line() && tokens[2 * i] == tokens[2 * j]; }
    bool follows(std::int64_t i, std::int64_t j) const { return j > 0 && same(i, j - 1); }
    bool marked(std::int64_t at, int mark) const { return (static_cast<int>(tokens[2 * at + 1]) & mark) != 0; }
    bool are_words(std::int64_t i, std::int64_t j) const {
        return marked(s.apart ? s.m + i : i, MARK_WORD) && marked(j, MARK_WORD);
    }
    /// Nothing where one of them has no place.
    std::optional<double> distance(std::int64_t i, std::int64_t j) const {
        if (s.apart) return std::nullopt;
        if (s.columns == 0 || i == j) return std::abs(static_cast<double>(i - j));
        if (i == 0 || j == 0) return std::nullopt;
        const std::int64_t down = (i - 1) / s.columns - (j - 1) / s.columns,
                           across = (i - 1) % s.columns - (j - 1) % s.columns;
        return std::hypot(static_cast<double>(down), static_cast<double>(across));
    }
    bool is_far(std::int64_t i, std::int64_t j) const { return j > 0 && distance(i, j).value_or(2) > 1.5; }
};

/// The sums that weight p of query i and key j belongs to.
void add_to_sums(double* sums, const Text& text, std::int64_t i, std::int64_t j, double p) {
    const std::optional<double> distance = text.distance(i, j);
    const std::int64_t back = i - j;
    const bool in_line = text.in_line(), same = text.same(i, j), follows = text.follows(i, j);
    sums[ROW_TOTAL] += p;
    sums[ROW_VISIBLE] += 1;
    sums[ROW_ENTROPY] -= p == 0 ? 0 : p * std::log(p);
    sums[ROW_DISTANCE] += p * distance.value_or(0);
    sums[ROW_SQUARED] += p * distance.value_or(0) * distance.value_or(0);
    if (in_line) sums[ROW_OFFSET] -= p * static_cast<double>(back);
    for (const auto& [number, counts] : {std::pair{ROW_NEAR, distance && *distance <= NEAR_KEYS},
                                         {ROW_SELF, distance && *distance == 0},
                                         {ROW_PREVIOUS, in_line && back == 1},
                                         {ROW_NEXT, in_line && back == -1},
                                         {ROW_FIRST, j == 0},
                                         {ROW_DELIMITERS, text.marked(j, MARK_DELIMITER)},
                                         {ROW_DUPLICATE, same && back > 0},
                                         {ROW_INDUCTION, follows && back >= 0},
                                         {ROW_REPEATED, same && back > 2},
                                         {ROW_COPIED, follows && back > 1}})
        if (counts) sums[number] += p;
}

/// The `count` largest of the weights, with their keys: (0, -1) where there are no more. Of equal ones the first.
void write_largest(double* to, std::vector<std::pair<double, std::int64_t>> reads, std::size_t count) {
    std::erase_if(reads, [](const auto& read) { return !(read.first > 0); });
    std::stable_sort(reads.begin(), reads.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; i < count; ++i) {
        to[2 * i] = i < reads.size() ? reads[i].first : 0;
        to[2 * i + 1] = i < reads.size() ? static_cast<double>(reads[i].second) : -1;
    }
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s(call);
    const Text text{in[tokens_], s};
    for (std::int64_t r = 0; r < s.rows; ++r)
        for (std::int64_t head = 0; head < s.heads; ++head) {
            const std::int64_t i = s.first_row + r;
            double* numbers = &at(out[rows_].data, (r * s.heads + head) * ROW_NUMBERS);
            std::vector<std::pair<double, std::int64_t>> all, copies, links;
            for (std::int64_t j = 0; j < s.keys; ++j) {
                const std::optional<double> p = weight_of(call, in, head, i, j);
                if (!p) continue;
                add_to_sums(numbers, text, i, j, *p);
                all.emplace_back(*p, j);
                if (i - j > 1 && text.follows(i, j)) copies.emplace_back(*p, j);
                if (text.is_far(i, j) && text.are_words(i, j)) links.emplace_back(*p, j);
                const auto add = [&](std::int64_t number, double value) {
                    out[keys_][(number * s.heads + head) * s.keys + j] += value;
                };
                add(KEY_RECEIVED, *p);
                add(KEY_SEEN, 1);
                if (text.is_far(i, j)) add(KEY_FAR_RECEIVED, *p), add(KEY_FAR_SEEN, 1);
            }
            write_largest(numbers + ROW_LARGEST, std::move(all), 1);
            write_largest(numbers + ROW_COPY, std::move(copies), 1);
            write_largest(numbers + ROW_LINKS, std::move(links), ROW_LINK_COUNT);
        }
}

// ---- kernels --------------------------------------------------------------------------------------------------------

Cost cost(const OpCall& call) {
    const Sizes s(call);
    return streaming_cost(call, 4.0 * static_cast<double>(s.rows * s.heads * s.keys * s.width));  // by rows, by keys
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Sizes s(call);
    const std::uint32_t lanes = workgroup_size(caps, 64);
    require_loops(call, caps, s.rows * (s.width / std::int64_t{step_of(s.width)} + 1));  // of a key
    params::AttentionWeightsConstants constants{.lanes = lanes,
                                                .Q_TYPE = storage_of(call.in(q_).dtype),
                                                .K_TYPE = storage_of(call.in(k_).dtype),
                                                .STEP = step_of(s.width),
                                                .FEATURE = static_cast<std::uint32_t>(feature_of(call))};
    set_rules(constants, call, rule_operands);
    const params::HeadStatisticsParams params{.n = u32(s.n),
                                              .m = u32(s.m),
                                              .heads = u32(s.heads),
                                              .kv_heads = u32(s.kv_heads),
                                              .d = u32(s.width),
                                              .causal = call.attrs.flag("causal"),
                                              .first_row = u32(s.first_row),
                                              .rows = u32(s.rows),
                                              .keys = u32(s.keys),
                                              .scale = static_cast<float>(scale_of(call, q_)),
                                              .apart = s.apart,
                                              .columns = u32(s.columns)};
    LaunchPlan plan;
    const auto add = [&](const char* shader, int result, std::array<std::uint32_t, 3> groups) {
        std::vector<Operand> operands;
        for (int i = 0; i <= tokens_; ++i) operands.push_back(in(i));
        operands.push_back(out(result));
        Launch l{.shader = shader, .spec = constants, .operands = std::move(operands), .groups = groups};
        plan.launches.push_back(l.with(params));
    };
    add("head_statistics_rows", rows_, flat_grid(s.rows * s.heads, caps));
    add("head_statistics_keys", keys_, flat_grid(ceil_div(s.keys * s.heads, lanes), caps));
    return plan;
}

std::vector<Case> cases() {
    using I = std::int64_t;
    // lse large enough that weights stay below 1; ids and marks of 0 to 3, so that tokens repeat
    const auto sized = [](const char* name, I n, I m, I heads, I kv_heads, I width, Attrs attrs) {
        const I tokens = attrs.flag("apart") ? n + m : m;
        Case c{.name = name,
               .attrs = std::move(attrs),
               .inputs = {floats({n, heads, width}),
                          floats({m, kv_heads, width}),
                          {.type = TensorType{Shape{n, heads}}, .low = 4, .high = 0.5, .fixed_type = true}}};
        c.inputs.resize(tokens_ + 1);
        c.inputs[tokens_] = integers_below({tokens, 2}, 4);
        return c;
    };
    const auto one = [&](const char* name, I heads, I kv_heads, I width, Attrs attrs) {
        return sized(name, 20, 22, heads, kv_heads, width, std::move(attrs));
    };
    std::vector<Case> list = {
        one("causal", 4, 2, 24, {{"first_row", 2}, {"rows", 18}, {"keys", 20}, {"causal", true}}),
        one("all keys", 2, 2, 24, {{"rows", 20}, {"keys", 22}}), one("nothing", 1, 1, 24, {{"rows", 0}, {"keys", 0}}),
        one("window", 2, 1, 7, {{"rows", 20}, {"keys", 20}, {"causal", true}, {"window_left", 5}, {"softcap", 3.0}})};
    Case& window = list.back();  // and slopes, and the norms of values
    window.inputs[position_bias_] = {
        .type = TensorType{Shape{2}}, .fill = Case::Fill::uniform, .high = 0.5, .fixed_type = true};
    window.inputs[factors_] = {
        .type = TensorType{Shape{22, 2}}, .fill = Case::Fill::uniform, .high = 2, .fixed_type = true};
    // more keys than a workgroup has lanes; more queries than keys; a class and 3 rows of 7 patches
    list.push_back(
        sized("many keys", 150, 150, 2, 1, 24, {{"first_row", 100}, {"rows", 50}, {"keys", 150}, {"causal", true}}));
    list.push_back(sized("another text", 30, 12, 2, 1, 24, {{"rows", 30}, {"keys", 11}, {"apart", true}}));
    list.push_back(sized("scores of another text", 30, 12, 2, 2, 12,
                         {{"rows", 30}, {"keys", 11}, {"apart", true}, {"feature", "scores"}}));
    list.push_back(sized("an image", 22, 22, 2, 2, 24, {{"rows", 22}, {"keys", 22}, {"columns", 7}}));
    const auto add_ruled = [&](const char* name, Attrs attrs) -> Case& {
        attrs.set("rows", 150), attrs.set("keys", 150);
        list.push_back(sized(name, 150, 150, 2, 1, 24, std::move(attrs)));
        for (Case::Input& input : list.back().inputs) input.fixed_type = true;
        return list.back();
    };
    add_ruled("two-sided window, global tokens", {{"window_left", 5}, {"window_right", 5}, {"global_tokens", 2}});
    Case& distances =
        add_ruled("prefix, bias by distance", {{"causal", true}, {"prefix_len", 70}, {"position_bias", "distance"}});
    distances.inputs[position_bias_] = {.type = TensorType{Shape{33, 2}}, .fixed_type = true};
    Case& relative = add_ruled("relative keys and queries", {{"position_bias", "relative_both"}, {"reach", 3}});
    relative.inputs[position_bias_] = {.type = TensorType{Shape{7 * (150 * 2 + 150)}}, .fixed_type = true};
    Case& hard = add_ruled("hard", {{"causal", true}, {"feature", "hard"}});
    hard.inputs[lse_] = integers_below({150, 2}, 150);
    hard.inputs[lse_].type->dtype = DType::f32, hard.inputs[lse_].fixed_type = true;
    add_ruled("linear attention", {{"causal", true}, {"feature", "elu+1"}});
    return list;
}

}  // namespace

const OpDef head_statistics_op = define_op(
    "head_statistics", "sums and maxima of p_ij = exp(s_ij - lse_i) over the rows and the columns of every head",
    operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_display);

}  // namespace internal::ops::head_statistics

HeadNumbers head_statistics(Tensor q, Tensor k, Tensor lse, Tensor tokens, Tensor factors, std::int64_t first_row,
                            std::int64_t rows, std::int64_t keys, const AttentionOptions& options,
                            SourceLocation where) {
    if (options.hard || options.heads_first || options.kv_len)
        throw Error(ErrorKind::usage, "head_statistics: hard attention, heads_first and kv_len are not supported",
                    where);
    Attrs attrs = rule_attrs(options);
    for (const auto& [name, value] : {std::pair{"first_row", first_row}, {"rows", rows}, {"keys", keys}})
        attrs.set(name, value);
    const std::vector<Tensor> results = add_call(q.graph(), head_statistics_op,
                                                 {q, k, lse, options.mask, position_bias_of(options, q, k, where),
                                                  options.block_mask, options.segment_ids, factors, tokens},
                                                 attrs, where);
    return {results[ops::head_statistics::rows_], results[ops::head_statistics::keys_]};
}

}  // namespace vantage
