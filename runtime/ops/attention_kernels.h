// The kernels of attention (runtime/ops/attention.cpp): sizes of a call, and launches that several files make.
#pragma once

#include <functional>

#include "runtime/ops/attention.h"
#include "runtime/ops/attention_rules.h"

namespace vantage::internal::ops::attention {

constexpr RuleOperands rule_operands{
    .mask = mask_, .position_bias = position_bias_, .block_mask = block_mask_, .segments = segments_};

/// Of the kernels with lib/attention_tiles.glsl.
constexpr std::uint32_t tiled_lanes = 256, tiled_rows = 64, tiled_shared_bytes = 32 << 10;
/// Whether a device and a call with these widths of keys and values fit them. CPU devices, which would not choose them,
/// run them with windows and documents alone, for the tests: each rule compiles another pipeline. Not with subgroups of
/// 4, as SwiftShader has, which compiles them for minutes.
bool fits_tiles(const OpCall& call, const Caps& caps, const RuleOperands& at, std::int64_t d, std::int64_t dv);
bool tiles_profitable(const OpCall& call, const Caps& caps);

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

Sizes sizes_of(const OpCall& call);
/// Whether keys and values are not quantised.
inline bool reads_floats(const OpCall& call) { return !is_quantized(call.in(k_).dtype); }
/// Whether the call is soft attention by products whose results are o and lse alone.
inline bool wants_sums_only(const OpCall& call) {
    return !call.attrs.flag("hard") && !call.attrs.flag("statistics") && !AttentionRules(call.attrs).is_additive();
}

/// The keys that a launch takes: all, or of a union (AttentionOptions::stride) the near ones or the far ones.
enum class Part : std::uint32_t { all = PART_ALL, near = PART_NEAR, far = PART_FAR };
bool is_union(const OpCall& call);
/// Residue classes of queries that walk keys of their own class alone: as many as there are, one if all keys are
/// walked.
std::int64_t classes_of(const OpCall& call, Part part);
/// Rows of the largest class, of all heads that share a key head.
std::int64_t rows_of_class(const OpCall& call, Part part);
/// The fewest of them of any part.
std::int64_t fewest_rows_of_class(const OpCall& call);

/// Fills in what all kernels of attention have among their specialization constants.
template <class Constants>
Constants attention_constants(const OpCall& call, std::uint32_t lanes, Part part, Constants own = {}) {
    const Sizes s = sizes_of(call);
    own.lanes = lanes;
    own.Q_TYPE = storage_of(call.in(q_).dtype);
    own.KV_TYPE = storage_of(call.in(k_).dtype);
    own.D = u32(s.d);
    own.DV = u32(s.dv);
    own.KEYS_BY_LANE = call.attrs.flag("keys_by_lane");
    set_rules(own, call, rule_operands);
    own.DROPOUT = call.has(dropout_);
    own.PART = static_cast<std::uint32_t>(part);
    return own;
}

/// A launch of a kernel with AttentionParams. `rows` queries a workgroup, `split` keys a workgroup (0 = all).
Launch attention_launch(const OpCall& call, const Caps& caps, const char* shader, std::vector<std::uint32_t> constants,
                        std::uint32_t rows, Part part, std::uint32_t split = 0);
/// The launches that a kernel makes of a call: one for all keys, or one for each part of a union and a last one that
/// joins them. With a split each of them leaves partial sums of `split` keys a workgroup.
LaunchPlan attention_plan(const OpCall& call, const Caps& caps, const std::function<Launch(Part)>& launch_part,
                          std::uint32_t split = 0);

bool fits_tiled(const OpCall& call, const Caps& caps);
LaunchPlan launch_tiled(const OpCall& call, const Caps& caps);
bool fits_coopmat2(const OpCall& call, const Caps& caps);
LaunchPlan launch_coopmat2(const OpCall& call, const Caps& caps);
bool fits_coopmat(const OpCall& call, const Caps& caps);
LaunchPlan launch_coopmat(const OpCall& call, const Caps& caps);

}  // namespace vantage::internal::ops::attention
