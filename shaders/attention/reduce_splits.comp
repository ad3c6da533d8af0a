// Joins the parts of a split attention, or the near and the far part of a union: with m = max_s m_s,
//   l = sum_s l_s exp(m_s - m),  o = sum_s sums_s exp(m_s - m) / l,  lse = m + ln l.
//
// One workgroup per row. Its lanes divide the splits for m and l, and for o the features and, where these are fewer, the
// splits: those of a group of lanes are added in their order, then the groups. Exact up to rounding, in an order that
// is fixed. With STATISTICS entropies and largest weights, too (lib/row_statistics.glsl). A row that saw nothing gives
// o = 0 and lse = -inf.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/attention.h"
ATTENTION_REDUCE_SPLITS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/cache.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"
#include "lib/row_statistics.glsl"
layout(push_constant) uniform Push { AttentionReduceSplitsParams p; };

const uint EACH = STATISTICS ? 3u : 2u;
// Splits of each part, and the slots of all: those of the second part begin where the first one has room for all keys.
uint splits;
uint slot(uint s, uint row) { return (s < splits ? s : s - splits + (p.m + SPLIT - 1u) / SPLIT) * p.rows + row; }
float partial(uint s, uint row, uint i) { return ReadFloats(p.partials).at[slot(s, row) * EACH + i]; }

const uint LANES = gl_WorkGroupSize.x;
const float UNSEEN = -1.0;
shared float factors[LANES];    // of the sums of LANES splits
shared float group_sums[LANES]; // of a feature, by group of lanes

// Feature d of all splits but those of other groups.
float sum_of_splits(uint row, uint d, uint group, uint groups, float maximum) {
    float sum = 0.0;
    for (uint first = 0u; first < PARTS * splits; first += LANES) {
        uint own = first + gl_LocalInvocationID.x, count = min(LANES, PARTS * splits - first);
        barrier();
        if (own < PARTS * splits)
            factors[own - first] = partial(own, row, 1u) == 0.0 ? UNSEEN : exp(partial(own, row, 0u) - maximum);
        barrier();
        if (d >= p.dv) continue;
        for (uint s = group; s < count; s += groups) {
            float part = ReadFloats(p.sums).at[slot(first + s, row) * p.dv + d], factor = factors[s];
            sum += factor == UNSEEN ? 0.0 : part * factor;  // nothing was stored there
        }
    }
    return sum;
}

void main() {
    uint row = workgroup_index(), lane = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    uvec2 step = step_of(p.step, row / (p.n * p.heads));
    splits = ((p.all_splits != 0u ? p.m : valid_keys(step, p.m)) + SPLIT - 1u) / SPLIT;
    float maximum = -3.0e38, denominator = 0.0, drop = 0.0;
    for (uint s = lane; s < PARTS * splits; s += LANES) maximum = max(maximum, partial(s, row, 0u));
    maximum = workgroup_max(maximum);
    for (uint s = lane; s < PARTS * splits; s += LANES) {
        float shrink = exp(partial(s, row, 0u) - maximum);
        denominator += partial(s, row, 1u) * shrink;
        if (STATISTICS) drop += drop_moved(partial(s, row, 2u), partial(s, row, 1u), partial(s, row, 0u), maximum) * shrink;
    }
    denominator = workgroup_sum(denominator);
    if (STATISTICS) drop = workgroup_sum(drop);
    uint head = p.heads_first != 0u ? row / p.n % p.heads : row % p.heads;
    if (STATISTICS && lane == 0u)
        store_statistics(row, maximum, denominator, drop, p.sinks, head, p.lse, p.entropy, p.largest);
    with_sink(maximum, denominator, p.sinks, head);
    float over = denominator > 0.0 ? 1.0 / denominator : 0.0;
    uint groups = max(1u, LANES / p.dv), group = lane / p.dv < groups ? lane / p.dv : 0u;
    for (uint first = 0u; first < p.dv; first += LANES) {
        uint d = groups == 1u ? first + lane : lane < groups * p.dv ? lane % p.dv : p.dv;
        float sum = sum_of_splits(row, d, group, groups, maximum);
        if (groups > 1u) {
            group_sums[lane] = sum;
            barrier();
            if (lane >= p.dv) continue;
            for (uint g = 1u; g < groups; ++g) sum += group_sums[g * p.dv + lane];
        }
        if (d < p.dv) store(p.o, Q_TYPE, row * p.dv + d, sum * over);
    }
    if (!STATISTICS && lane == 0u)
        Floats(p.lse).at[row] = denominator == 0.0 ? uintBitsToFloat(0xff800000u) : maximum + log(denominator);
}
