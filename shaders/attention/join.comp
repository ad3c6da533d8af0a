// Joins the parts of a split attention: with m = max_s m_s,
//   l = sum_s l_s exp(m_s - m),  o = sum_s sums_s exp(m_s - m) / l,  lse = m + ln l.
//
// One workgroup per row; every lane walks the few splits, then lanes take the features. Exact up to rounding, and the order of
// the splits is fixed. A row that saw nothing gives o = 0 and lse = -inf.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint Q_TYPE = 0;  // o
layout(constant_id = 2) const uint SPLIT = 256;
#include "lib/cache.glsl"
#include "lib/sinks.glsl"
#include "lib/index.glsl"
#include "params/attention.h"
layout(push_constant) uniform Push { AttentionJoinParams p; };

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    uint splits = (valid_keys(p.step, p.m) + SPLIT - 1u) / SPLIT;
    float maximum = -3.0e38, denominator = 0.0;
    for (uint s = 0u; s < splits; ++s) maximum = max(maximum, ReadFloats(p.partials).at[(s * p.rows + row) * 2u]);
    for (uint s = 0u; s < splits; ++s) {
        uint slot = (s * p.rows + row) * 2u;
        denominator += ReadFloats(p.partials).at[slot + 1u] * exp(ReadFloats(p.partials).at[slot] - maximum);
    }
    uint head = p.heads_first != 0u ? row / p.n % p.heads : row % p.heads;
    with_sink(maximum, denominator, p.sinks, head);
    float over = denominator > 0.0 ? 1.0 / denominator : 0.0;
    for (uint d = gl_LocalInvocationID.x; d < p.dv; d += gl_WorkGroupSize.x) {
        float sum = 0.0;
        for (uint s = 0u; s < splits; ++s) {
            uint slot = s * p.rows + row;
            if (ReadFloats(p.partials).at[slot * 2u + 1u] == 0.0) continue;  // nothing seen there
            sum += ReadFloats(p.sums).at[slot * p.dv + d] * exp(ReadFloats(p.partials).at[slot * 2u] - maximum);
        }
        store(p.o, Q_TYPE, row * p.dv + d, sum * over);
    }
    if (gl_LocalInvocationID.x == 0u)
        Floats(p.lse).at[row] = denominator > 0.0 ? maximum + log(denominator) : uintBitsToFloat(0xff800000u);
}
