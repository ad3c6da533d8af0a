#include "runtime/ops/attention_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/ops/checks.h"

namespace vantage::internal {

namespace {

constexpr double lowest = -3.0e38;  // as in the kernels: what a mask moves below it is not seen

PositionBias bias_named(const std::string& name) {
    if (name == "distance") return PositionBias::distance;
    if (name == "key") return PositionBias::key;
    if (name == "relative") return PositionBias::relative;
    if (name == "key_log") return PositionBias::key_log;
    if (name == "additive") return PositionBias::additive;
    return name == "relative_both" ? PositionBias::relative_both : PositionBias::alibi;
}

// Of a relative position_bias.
std::int64_t relative_elements(const AttentionRules& rules, const RuleSizes& s) {
    const std::int64_t of_keys = rules.bias == PositionBias::relative_both ? s.m * s.kv_heads : 0;
    return s.batch * (2 * rules.reach + 1) * (s.n * s.heads + of_keys);
}

/// What a position_bias adds to the score of head h of query `row` of batch b at position i for key j.
double bias_of(const AttentionRules& rules, const HostTensor& table, const RuleSizes& s, std::int64_t b, std::int64_t h,
               std::int64_t row, std::int64_t i, std::int64_t j) {
    const auto row_of = [&](std::int64_t reach) { return std::clamp(j - i, -reach, reach) + reach; };
    const std::int64_t kv_head = h / (s.heads / s.kv_heads), query = (b * s.n + row) * s.heads + h,
                       key = s.batch * s.n * s.heads + (b * s.m + j) * s.kv_heads + kv_head;
    const auto product = [&](std::int64_t of) { return table[of * (2 * rules.reach + 1) + row_of(rules.reach)]; };
    switch (rules.bias) {
        case PositionBias::alibi: return table[h] * static_cast<double>(rules.causal ? j - i : -std::abs(i - j));
        case PositionBias::distance: return table[row_of(table.type.shape[0] / 2) * s.heads + h];
        case PositionBias::key: return table[j * s.heads + h];
        case PositionBias::key_log: return table[j * s.kv_heads + kv_head];
        case PositionBias::additive: return 0;
        case PositionBias::relative: return product(query);
        case PositionBias::relative_both: return product(query) + product(key);
    }
    return 0;
}

/// What the block mask says of the query at position i and key j of a sequence.
double times_seen(const OpCall& call, std::span<const HostTensor> in, const RuleOperands& at,
                  const AttentionRules& rules, std::int64_t sequence, std::int64_t i, std::int64_t j) {
    const std::int64_t blocks = call.in(at.block_mask).shape[-1],
                       row = (blocks_by_batch(call, at) ? sequence * blocks : 0) + i / rules.block;
    return vantage::internal::at(in, at.block_mask)[row * blocks + j / rules.block];
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
/// Keys of [from, to) whose distances from i `step` divides.
std::int64_t multiples(std::int64_t step, std::int64_t i, std::int64_t from, std::int64_t to) {
    return floor_div(to - 1 - i, step) - floor_div(from - 1 - i, step);
}

std::optional<std::int64_t> optional_integer(const Attrs& attrs, const char* name) {
    return attrs.has(name) ? std::optional(attrs.integer(name)) : std::nullopt;
}

}  // namespace

AttentionRules::AttentionRules(const Attrs& attrs)
    : causal(attrs.flag("causal")),
      softcap(attrs.number("softcap")),
      left(optional_integer(attrs, "window_left")),
      right(optional_integer(attrs, "window_right")),
      dilation(attrs.integer("dilation", 1)),
      stride(attrs.integer("stride")),
      summary_keys(attrs.integer("summary_keys")),
      prefix(attrs.integer("prefix_len")),
      global(attrs.integer("global_tokens")),
      block(attrs.integer("block_size")),
      packed(attrs.flag("packed")),
      bias(bias_named(attrs.text("position_bias", "alibi"))),
      reach(attrs.integer("reach")) {}

void AttentionRules::check(const OpCall& call) const {
    constexpr std::int64_t maximum = std::int64_t{1} << 30;
    const auto count = [&](const char* name, std::int64_t value, std::int64_t minimum) {
        call.require(value >= minimum && value <= maximum,
                     format("{} is {}, but must be between {} and 2^30", name, value, minimum));
    };
    call.require(softcap == 0 || (softcap >= 1e-30 && softcap <= 1e30),
                 format("softcap is {:g}, but must be 0 (none) or lie between 1e-30 and 1e30", softcap));
    if (left) count("window_left", *left, 0);
    if (right) count("window_right", *right, 0);
    count("dilation", dilation, 1);
    count("stride", stride, 0);
    count("summary_keys", summary_keys, 0);
    call.require(summary_keys <= stride, format("summary_keys is {}, but the stride is {}: they are the last keys of a "
                                                "block of `stride`",
                                                summary_keys, stride));
    const bool has_window = left || right || dilation > 1;
    call.require(summary_keys == 0 || !has_window,
                 "summary_keys come with blocks of `stride`: leave out windows and dilation");
    call.require(
        stride == 0 || summary_keys > 0 || has_window,
        format("stride is {}, but without a window all keys are seen: give window_left or window_right", stride));
    count("prefix_len", prefix, 0);
    count("global_tokens", global, 0);
    count("block_size", block, 0);
    count("reach", reach, 0);
}

bool AttentionRules::is_near(std::int64_t i, std::int64_t j) const {
    if (j < global || (i >= 0 && i < global)) return true;
    if (summary_keys > 0) return i >= 0 && i / stride == j / stride;
    return (!left || i - j <= *left) && (!right || j - i <= *right) && (i - j) % dilation == 0;
}

bool AttentionRules::is_far(std::int64_t i, std::int64_t j) const {
    if (stride == 0) return false;
    return summary_keys > 0 ? j % stride >= stride - summary_keys : (i - j) % stride == 0;
}

bool AttentionRules::sees(std::int64_t i, std::int64_t j) const {
    return (!causal || j <= i || j < prefix) && (is_near(i, j) || is_far(i, j));
}

double AttentionRules::keys_seen(std::int64_t i, std::int64_t m) const {
    const std::int64_t end = std::clamp<std::int64_t>(causal ? std::max(i + 1, prefix) : m, 0, m);
    if (i >= 0 && i < global) return static_cast<double>(end);
    const std::int64_t first = std::min(global, end);  // those before it are seen by all
    if (summary_keys > 0) {
        const std::int64_t block_of = floor_div(i, stride) * stride, from = std::clamp(block_of, first, end),
                           to = std::clamp(block_of + stride, from, end);
        const auto summaries = [&](std::int64_t before) {
            return before / stride * summary_keys +
                   std::max<std::int64_t>(before % stride - (stride - summary_keys), 0);
        };
        return static_cast<double>(first + (to - from) + summaries(end) - summaries(first) -
                                   (summaries(to) - summaries(from)));
    }
    const std::int64_t from = left ? std::clamp(i - *left, first, end) : first,
                       to = right ? std::clamp(i + *right + 1, from, end) : end;
    double seen = static_cast<double>(first + multiples(dilation, i, from, to));
    if (stride > 0)
        seen +=
            static_cast<double>(multiples(stride, i, first, end) - multiples(std::lcm(stride, dilation), i, from, to));
    return seen;
}

Attrs rule_attrs(const AttentionOptions& options) {
    Attrs attrs;
    if (options.causal) attrs.set("causal", true);
    if (options.scale) attrs.set("scale", *options.scale);
    if (options.softcap != 0) attrs.set("softcap", options.softcap);
    if (options.window_left) attrs.set("window_left", *options.window_left);
    if (options.window_right) attrs.set("window_right", *options.window_right);
    if (options.dilation != 1) attrs.set("dilation", options.dilation);
    if (options.stride != 0) attrs.set("stride", options.stride);
    if (options.summary_keys != 0) attrs.set("summary_keys", options.summary_keys);
    if (options.prefix_len != 0) attrs.set("prefix_len", options.prefix_len);
    if (options.global_tokens != 0) attrs.set("global_tokens", options.global_tokens);
    if (options.block_size != 0) attrs.set("block_size", options.block_size);
    if (options.packed) attrs.set("packed", true);
    if (options.distance_bias) attrs.set("position_bias", "distance");
    if (options.key_bias) attrs.set("position_bias", "key");
    if (options.additive) attrs.set("position_bias", "additive");
    if (options.relative_keys) {
        attrs.set("position_bias", options.relative_queries ? "relative_both" : "relative");
        attrs.set("reach", options.relative_keys.shape()[0] / 2);
    }
    return attrs;
}

namespace {

void check_relative_keys(const AttentionOptions& o, const Tensor& q, const Tensor& k, SourceLocation where) {
    const auto fail = [&](const std::string& what) {
        throw Error(ErrorKind::usage, "attention: relative_" + what, where);
    };
    if (!o.relative_keys) fail("queries come without relative_keys: give both");
    const std::int64_t width = q.shape()[-1];
    for (const auto& [name, table] : {std::pair{"keys is ", o.relative_keys}, {"queries is ", o.relative_queries}}) {
        if (!table) continue;
        const Shape& shape = table.shape();
        if (table.dtype() != DType::f32 || shape.rank() != 2 || shape[0] % 2 == 0 || shape[1] != width ||
            shape != o.relative_keys.shape())
            fail(name + table.type().text() + format(", but must be f32 [2 w + 1, {}], both alike", width));
    }
    if (o.heads_first || q.shape().rank() != k.shape().rank()) fail("keys want q and k as [(batch,) n, heads, D]");
}

// x [(batch,) n, heads, D] times table [2 w + 1, D], as a list of [(batch,) n, heads, 2 w + 1] in f32.
Tensor relative_products(Tensor x, Tensor table, double scale, SourceLocation where) {
    Graph g = x.graph();
    const std::int64_t width = table.shape()[1], rows = x.shape().elements() / width;
    const Tensor flat = g.reshape(x, {rows, width});
    const MatmulOptions how{.transpose_b = true, .alpha = scale};
    // a product has the storage type of its first factor, which is f32 for the table
    const Tensor all = x.dtype() == DType::f32 ? matmul(flat, table, how, {}, {}, where)
                                               : split_heads(matmul(table, flat, how, {}, {}, where), rows, where);
    return g.reshape(all, {all.shape().elements()});
}

Tensor relative_bias(const AttentionOptions& o, const Tensor& q, const Tensor& k, SourceLocation where) {
    check_relative_keys(o, q, k, where);
    const double scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(q.shape()[-1])));
    const Tensor of_queries = relative_products(q, o.relative_keys, scale, where);
    return o.relative_queries ? concat(of_queries, relative_products(k, o.relative_queries, scale, where), where)
                              : of_queries;
}

}  // namespace

Tensor position_bias_of(const AttentionOptions& options, const Tensor& q, const Tensor& k, SourceLocation where) {
    const bool relative = options.relative_keys || options.relative_queries;
    Tensor found;
    for (const Tensor& bias : {options.alibi_slopes, options.distance_bias, options.key_bias, options.additive}) {
        if (!bias) continue;
        if (found || relative)
            throw Error(ErrorKind::usage, "attention: more than one bias by position, or one of additive scores",
                        where);
        found = bias;
    }
    return relative ? relative_bias(options, q, k, where) : found;
}

void check_rule_operands(const OpCall& call, const RuleOperands& at, const RuleSizes& s, const AttentionRules& rules) {
    rules.check(call);
    if (call.has(at.position_bias)) {
        const TensorType& table = call.in(at.position_bias);
        const bool by_distance = rules.bias == PositionBias::distance;
        if (rules.bias == PositionBias::alibi)
            require_type(call, at.position_bias, {Shape{s.heads}, DType::f32});
        else if (rules.is_additive())
            require_type(call, at.position_bias, {Shape{s.width}, DType::f32});
        else if (rules.bias == PositionBias::key_log)
            require_type(call, at.position_bias, {Shape{s.m, s.kv_heads}, DType::f32});
        else if (rules.is_relative())
            require_type(call, at.position_bias, {Shape{relative_elements(rules, s)}, DType::f32});
        else
            call.require(
                table.dtype == DType::f32 && table.shape.rank() == 2 && table.shape[1] == s.heads &&
                    (by_distance ? table.shape[0] % 2 == 1 : table.shape[0] == s.m),
                operand_is(call, at.position_bias) +
                    format(", but must be f32 [{}, {}]", by_distance ? "2 w + 1" : std::to_string(s.m), s.heads));
    }
    call.require(call.has(at.position_bias) || !rules.is_additive(), "additive scores want their vector w");
    call.require(call.has(at.segments) || !rules.packed, "packed says that segment_ids ascend: give them");
    if (call.has(at.segments) && call.in(at.segments).shape.rank() == 1 && s.batch == 1)
        require_type(call, at.segments, {Shape{s.m}, DType::i32});
    else
        require_type(call, at.segments, {Shape{s.batch, s.m}, DType::i32});
    call.require((rules.block > 0) == call.has(at.block_mask), "a block mask and a block_size go together");
    if (rules.block > 0) {
        const std::int64_t blocks = (s.m + rules.block - 1) / rules.block;
        const bool by_batch = call.in(at.block_mask).shape.rank() == 3;
        require_type(call, at.block_mask,
                     {by_batch ? Shape{s.batch, blocks, blocks} : Shape{blocks, blocks}, DType::i32});
    }
    if (!call.has(at.mask)) return;
    const Shape& mask = call.in(at.mask).shape;
    const int rank = mask.rank();
    const bool fits = call.in(at.mask).dtype == DType::f32 && rank >= 2 && rank <= 4 && mask[-2] == s.n &&
                      mask[-1] == s.m && (rank < 3 || mask[-3] == 1 || mask[-3] == s.heads) &&
                      (rank < 4 || mask[0] == 1 || mask[0] == s.batch);
    const auto size = [](std::int64_t value) { return std::to_string(value); };
    const std::string matrix = size(s.n) + ", " + size(s.m) + "]", heads = size(s.heads) + ", " + matrix;
    call.require(fits, operand_is(call, at.mask) + ", wanted f32 [" + matrix + ", [" + heads + " or [" + size(s.batch) +
                           ", " + heads + "; leading sizes may be 1");
}

double scale_of(const OpCall& call, int q) {
    if (AttentionRules(call.attrs).is_additive() || call.attrs.text("feature", "") == "scores") return 1;
    return call.attrs.number("scale", 1 / std::sqrt(static_cast<double>(call.in(q).shape[-1])));
}

double score_part(const AttentionRules& rules, std::span<const HostTensor> in, const RuleOperands& at, std::int64_t d,
                  double q, double k) {
    return rules.is_additive() ? vantage::internal::at(in, at.position_bias)[d] * std::tanh(q + k) : q * k;
}

Feature feature_of(const OpCall& call) {
    const std::string name = call.attrs.text("feature", "softmax");
    if (name == "softmax") return Feature::softmax;
    if (name == "hard") return Feature::hard;
    if (name == "scores") return Feature::scores;
    call.require(name == "elu+1" || name == "none",
                 "feature is " + name + ", but must be softmax, elu+1, none, scores or hard");
    return name == "elu+1" ? Feature::elu_plus_1 : Feature::none;
}

std::optional<double> recorded_weight(const OpCall& call, std::span<const HostTensor> in, const RuleOperands& at,
                                      const RuleSizes& s, std::int64_t head, std::int64_t row, std::int64_t i,
                                      std::int64_t key) {
    enum : int { q_, k_, lse_ };
    const AttentionRules rules(call.attrs);
    const Feature feature = feature_of(call);
    const bool featured = feature == Feature::elu_plus_1 || feature == Feature::none;
    const auto phi = [&](double x) { return feature != Feature::elu_plus_1 ? x : x > 0 ? x + 1 : std::exp(x); };
    const std::int64_t q_row = row * s.heads + head, k_row = key * s.kv_heads + head / (s.heads / s.kv_heads);
    double product = feature == Feature::scores ? in[q_][q_row * s.width + key] : 0;
    for (std::int64_t d = 0; d < s.width && feature != Feature::scores; ++d)
        product += score_part(rules, in, at, d, phi(in[q_][q_row * s.width + d]), phi(in[k_][k_row * s.width + d]));
    const double lse = in[lse_][q_row], infinity = std::numeric_limits<double>::infinity();
    const double scaled = featured ? 0 : scale_of(call, q_) * product;
    const auto score = ruled_score(call, in, at, s, rules, scaled, 0, 0, head, row, i, key);
    if (!score || lse == -infinity) return std::nullopt;  // NaN stays
    if (feature == Feature::hard) return std::isnan(lse) ? lse : static_cast<double>(key) == lse ? 1 : 0;
    return featured ? product * std::exp(*score - lse) : std::exp(*score - lse);
}

RuleSizes recorded_sizes(const Shape& q, const Shape& k) {
    return {.batch = 1, .heads = q[1], .n = q[0], .m = k[0], .kv_heads = k[1], .width = q[2]};
}

void check_recorded(const OpCall& call, const TensorType& q, const TensorType& k, int lse) {
    call.require(q.shape.rank() == 3 && k.shape.rank() == 3,
                 "q " + q.text() + " and k " + k.text() + " must be [n, heads, D]");
    const std::int64_t width = call.attrs.text("feature", "") == "scores" ? k.shape[0] : k.shape[2];
    call.require(q.shape[2] == width && k.shape[1] > 0 && q.shape[1] % k.shape[1] == 0,
                 "k is " + k.text() + ", but q is " + q.text());
    require_type(call, lse, {Shape{q.shape[0], q.shape[1]}, DType::f32});
}

bool mask_by_head(const OpCall& call, const RuleOperands& at) {
    return call.has(at.mask) && call.in(at.mask).shape.rank() > 2 && call.in(at.mask).shape[-3] > 1;
}
bool mask_by_batch(const OpCall& call, const RuleOperands& at) {
    return call.has(at.mask) && call.in(at.mask).shape.rank() > 3 && call.in(at.mask).shape[0] > 1;
}

bool blocks_by_batch(const OpCall& call, const RuleOperands& at) {
    return call.has(at.block_mask) && call.in(at.block_mask).shape.rank() == 3;  // one lane may be of any sequence
}

bool has_rules(const OpCall& call, const RuleOperands& at, const AttentionRules& rules) {
    return call.has(at.segments) || has_rules_besides_documents(call, at, rules);
}

bool has_rules_besides_documents(const OpCall& call, const RuleOperands& at, const AttentionRules& rules) {
    return rules.softcap > 0 || rules.left || rules.right || rules.dilation > 1 || rules.stride > 0 ||
           rules.block > 0 || call.has(at.mask) || call.has(at.position_bias) ||
           (call.has(at.segments) && !rules.packed);
}

Case::Input documents_of_case(std::int64_t tokens) {
    std::vector<double> ids(static_cast<std::size_t>(tokens), 5);
    std::int64_t document = -2, next = 0;  // negative ids, too
    for (const std::int64_t length : {3, 61, 64, 30})
        for (std::int64_t end = std::min(next + length, tokens), id = document++; next < end; ++next)
            ids[static_cast<std::size_t>(next)] = static_cast<double>(id);
    return list_of(DType::i32, ids);
}
Case::Input documents_of_batch(std::int64_t tokens) {
    std::vector<double> ids;
    for (const std::int64_t length : {37, 41})
        for (std::int64_t i = 0; i < tokens; ++i) {
            const std::int64_t document = i / length;
            ids.push_back(static_cast<double>(document));
        }
    return filled_with({Shape{2, tokens}, DType::i32}, ids);
}

std::optional<double> ruled_score(const OpCall& call, std::span<const HostTensor> in, const RuleOperands& at,
                                  const RuleSizes& s, const AttentionRules& rules, double scaled, std::int64_t b,
                                  std::int64_t sequence, std::int64_t h, std::int64_t row, std::int64_t i,
                                  std::int64_t j) {
    const auto tensor = [&](int operand) -> const HostTensor& { return internal::at(in, operand); };
    if (!rules.sees(i, j)) return std::nullopt;
    if ((rules.block > 0 || call.has(at.segments)) && (i < 0 || i >= s.m))
        return std::nullopt;  // it has no place there
    const double times = rules.block > 0 ? times_seen(call, in, at, rules, sequence, i, j) : 1;
    if (times <= 0) return std::nullopt;
    if (call.has(at.segments) && tensor(at.segments)[b * s.m + i] != tensor(at.segments)[b * s.m + j])
        return std::nullopt;
    double score = rules.softcap > 0 ? rules.softcap * std::tanh(scaled / rules.softcap) : scaled;
    if (call.has(at.position_bias)) score += bias_of(rules, tensor(at.position_bias), s, b, h, row, i, j);
    if (call.has(at.mask)) {
        const std::int64_t sheet = (mask_by_batch(call, at) ? b : 0) * (mask_by_head(call, at) ? s.heads : 1) +
                                   (mask_by_head(call, at) ? h : 0);
        score += tensor(at.mask)[(sheet * s.n + row) * s.m + j];
    }
    if (times > 1) score += std::log(times);
    return score <= lowest ? std::nullopt : std::optional(score);  // NaN stays
}

}  // namespace vantage::internal
