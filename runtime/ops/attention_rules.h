// Which keys a query sees and what is added to its score: the options that attention and its tap share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/base/at.h"
#include "runtime/graph/op_def.h"
#include "shaders/params/attention.h"
#include "vantage/op.h"
#include "vantage/ops.h"

namespace vantage::internal {

/// Query i sits at a position of the keys' axis (i + m - n, or the step's), and sees key j where all of these hold:
///   causal: j ≤ i, or j < prefix;   near: -right ≤ i - j ≤ left and (i - j) divisible by `dilation`, or with summary
///   keys i / stride = j / stride, or j < global, or i < global; or far, with a stride: (i - j) divisible by it, or
///   with summary keys j mod stride ≥ stride - summary keys;   block mask: block_mask[i / block, j / block] > 0;
///   segments: segment[i] = segment[j].
/// Its score is softcap tanh(scale q·k / softcap) + bias_h(i, j) + mask, the bias by position one of
///   alibi: slope_h (j - i), or -slope_h |i - j| where not causal;   distance: table[clamp(j - i, -w, w) + w, h];
///   key: table[j, h];   key_log: table[j, key head], the logarithm of what a key's features are times (linear
///   attention);   relative: products[b, row, h, r] of the queries and a table of relative keys, with r =
///   clamp(j - i, -w, w) + w;   relative_both: and after those products[b, j, key head, r] of the keys.
/// A block that the block mask shows c > 1 times adds ln c, too: a softmax over a multiset of keys.
/// Or there is none, and the operand is the vector w of additive scores, which take the product's place:
///   additive: Σ_d w_d tanh(q_d + k_d).
enum class PositionBias : std::uint8_t { alibi, distance, key, relative, relative_both, key_log, additive };
struct AttentionRules {
    bool causal = false;
    double softcap = 0;                       ///< 0 = none
    std::optional<std::int64_t> left, right;  ///< keys before and after the query's own
    std::int64_t dilation = 1, stride = 0, summary_keys = 0, prefix = 0, global = 0, block = 0;
    bool packed = false;                      ///< segments ascend
    PositionBias bias = PositionBias::alibi;  ///< what an operand position_bias is
    std::int64_t reach = 0;                   ///< w of a relative one

    explicit AttentionRules(const Attrs& attrs);
    /// Throws through `call` for numbers that make no sense.
    void check(const OpCall& call) const;
    bool is_near(std::int64_t i, std::int64_t j) const;
    bool is_far(std::int64_t i, std::int64_t j) const;
    bool sees(std::int64_t i, std::int64_t j) const;
    /// Keys of [0, m) that query i looks at, those that block masks, masks and segments hide among them.
    double keys_seen(std::int64_t i, std::int64_t m) const;
    bool is_additive() const { return bias == PositionBias::additive; }
    bool is_relative() const { return bias == PositionBias::relative || bias == PositionBias::relative_both; }
};

/// The options that rules and scale come from, by their names.
Attrs rule_attrs(const AttentionOptions& options);
/// The bias by position of the options for these queries and keys, empty without one. Throws usage for more than one,
/// and for relative keys that do not fit.
Tensor position_bias_of(const AttentionOptions& options, const Tensor& q, const Tensor& k, SourceLocation where);

/// Additive mask [n, m], or [B or 1, H or 1, n, m], f32; position_bias [H], [2 w + 1, H], [m, H], key_log [m, key
/// heads], additive [D] or, relative, all its elements as a list, f32; block_mask [⌈m/block⌉, ⌈m/block⌉] i32 by
/// position, or one of each sequence; segments [B, m] i32 ([m] without a batch). The indices of these operands in an
/// op.
struct RuleOperands {
    int mask, position_bias, block_mask, segments;
};
/// Sizes that the operands must fit. n queries end at key m; both are `width` wide.
struct RuleSizes {
    std::int64_t batch, heads, n, m, kv_heads, width;
};
void check_rule_operands(const OpCall& call, const RuleOperands& at, const RuleSizes& sizes,
                         const AttentionRules& rules);
/// The factor of scores, 1 / sqrt(D) unless the call has one; 1 of additive and of recorded ones. `q` is the operand of
/// queries.
double scale_of(const OpCall& call, int q);
/// What element d of a query and a key adds to their score, before the scale.
double score_part(const AttentionRules& rules, std::span<const HostTensor> in, const RuleOperands& at, std::int64_t d,
                  double q, double k);
/// How recorded queries and keys become weights, as the kernels number it: a softmax of scores; products of features φ,
/// with φ(x) = elu(x) + 1 or x itself (linear attention); a softmax of scores that are recorded in place of queries; or
/// hard, 1 for the key whose number the operand lse is.
enum class Feature : std::uint8_t { softmax, elu_plus_1, none, scores, hard };
Feature feature_of(const OpCall& call);
/// Weight of key `key` for query `row` of a head at position i, from what attention recorded; nothing where it is not
/// seen. The operands q, k and lse are the call's first ones.
std::optional<double> recorded_weight(const OpCall& call, std::span<const HostTensor> in, const RuleOperands& at,
                                      const RuleSizes& sizes, std::int64_t head, std::int64_t row, std::int64_t i,
                                      std::int64_t key);
/// Of a call with q [n, heads, D] and k [m, kv_heads, D] of one sequence.
RuleSizes recorded_sizes(const Shape& q, const Shape& k);
/// Checks what attention recorded: q [n, heads, D], or [n, heads, m] with feature "scores", k [m, kv_heads, D] and the
/// operand lse [n, heads].
void check_recorded(const OpCall& call, const TensorType& q, const TensorType& k, int lse);
/// Whether the call has any rule that takes a kernel more than the causal mask and its prefix.
bool has_rules(const OpCall& call, const RuleOperands& at, const AttentionRules& rules);
/// The same, but for packed documents.
bool has_rules_besides_documents(const OpCall& call, const RuleOperands& at, const AttentionRules& rules);
/// Segments of packed documents for a case, with ends inside of tiles and at their edges.
Case::Input documents_of_case(std::int64_t tokens);
/// Of two sequences, which are divided at other places.
Case::Input documents_of_batch(std::int64_t tokens);
/// Whether the mask has an element for each head, for each batch; with one head or batch it does not matter.
bool mask_by_head(const OpCall& call, const RuleOperands& at);
bool mask_by_batch(const OpCall& call, const RuleOperands& at);
/// Whether each sequence of a batch has a block mask of its own.
bool blocks_by_batch(const OpCall& call, const RuleOperands& at);
/// Fills in ATTENTION_RULE_CONSTANTS, which kernels with lib/attention_rules.glsl have among theirs.
template <class Constants>
void set_rules(Constants& constants, const OpCall& call, const RuleOperands& at) {
    const AttentionRules rules(call.attrs);
    const bool by_distance = rules.bias == PositionBias::distance && call.has(at.position_bias);
    const std::int64_t reach = by_distance ? call.in(at.position_bias).shape[0] / 2 : rules.reach;
    constants.RULES = has_rules(call, at, rules);
    constants.SOFTCAP = static_cast<float>(rules.softcap);
    constants.WINDOW_LEFT = rules.left ? u32(*rules.left) : NO_LIMIT;
    constants.WINDOW_RIGHT = rules.right ? u32(*rules.right) : NO_LIMIT;
    constants.DILATION = u32(rules.dilation);
    constants.STRIDE = u32(rules.stride);
    constants.SUMMARY_KEYS = u32(rules.summary_keys);
    constants.PREFIX = u32(rules.prefix);
    constants.GLOBAL = u32(rules.global);
    constants.BLOCK = u32(rules.block);
    constants.MASK_BY_HEAD = mask_by_head(call, at);
    constants.MASK_BY_BATCH = mask_by_batch(call, at);
    constants.BLOCK_BY_BATCH = blocks_by_batch(call, at);
    constants.PACKED = rules.packed && call.has(at.segments);
    constants.BIAS = static_cast<std::uint32_t>(rules.bias);
    constants.REACH = u32(reach);
}
/// Score of query `row` of head h of batch b at position i for key j, by the rules; nothing where it is not seen. The
/// keys are those of `sequence`, which is b without a step.
std::optional<double> ruled_score(const OpCall& call, std::span<const HostTensor> in, const RuleOperands& at,
                                  const RuleSizes& sizes, const AttentionRules& rules, double scaled, std::int64_t b,
                                  std::int64_t sequence, std::int64_t h, std::int64_t row, std::int64_t i,
                                  std::int64_t j);

}  // namespace vantage::internal
