// Joins the parts of a split attention, or the near and the far part of a union: with m = max_s m_s,
//   l = sum_s l_s exp(m_s - m),  o = sum_s sums_s exp(m_s - m) / l,  lse = m + ln l.
//
// One workgroup per row; every lane walks the few splits, then lanes take the features. Exact up to rounding, and the
// order of the splits is fixed. With STATISTICS entropies and largest weights, too (lib/row_statistics.glsl). A row
// that saw nothing gives o = 0 and lse = -inf.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/attention.h"
ATTENTION_REDUCE_SPLITS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/cache.glsl"
#include "lib/index.glsl"
#include "lib/row_statistics.glsl"
layout(push_constant) uniform Push { AttentionReduceSplitsParams p; };

const uint EACH = STATISTICS ? 3u : 2u;
// Splits of each part, and the slots of all: those of the second part begin where the first one has room for all keys.
uint splits;
uint slot(uint s, uint row) { return (s < splits ? s : s - splits + (p.m + SPLIT - 1u) / SPLIT) * p.rows + row; }
float partial(uint s, uint row, uint i) { return ReadFloats(p.partials).at[slot(s, row) * EACH + i]; }

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    uvec2 step = step_of(p.step, row / (p.n * p.heads));
    splits = ((p.all_splits != 0u ? p.m : valid_keys(step, p.m)) + SPLIT - 1u) / SPLIT;
    float maximum = -3.0e38, denominator = 0.0, drop = 0.0;
    for (uint s = 0u; s < PARTS * splits; ++s) maximum = max(maximum, partial(s, row, 0u));
    for (uint s = 0u; s < PARTS * splits; ++s) {
        float shrink = exp(partial(s, row, 0u) - maximum);
        denominator += partial(s, row, 1u) * shrink;
        if (STATISTICS) drop += drop_moved(partial(s, row, 2u), partial(s, row, 1u), partial(s, row, 0u), maximum) * shrink;
    }
    uint head = p.heads_first != 0u ? row / p.n % p.heads : row % p.heads;
    if (STATISTICS && gl_LocalInvocationID.x == 0u)
        store_statistics(row, maximum, denominator, drop, p.sinks, head, p.lse, p.entropy, p.largest);
    with_sink(maximum, denominator, p.sinks, head);
    float over = denominator > 0.0 ? 1.0 / denominator : 0.0;
    for (uint d = gl_LocalInvocationID.x; d < p.dv; d += gl_WorkGroupSize.x) {
        float sum = 0.0;
        for (uint s = 0u; s < PARTS * splits; ++s) {
            if (partial(s, row, 1u) == 0.0) continue;  // nothing seen there
            sum += ReadFloats(p.sums).at[slot(s, row) * p.dv + d] * exp(partial(s, row, 0u) - maximum);
        }
        store(p.o, Q_TYPE, row * p.dv + d, sum * over);
    }
    if (!STATISTICS && gl_LocalInvocationID.x == 0u)
        Floats(p.lse).at[row] = denominator == 0.0 ? uintBitsToFloat(0xff800000u) : maximum + log(denominator);
}
