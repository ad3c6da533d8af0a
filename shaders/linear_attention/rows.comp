// linear_attention, third of three:
//   o_i = phi(q_i)^T S / phi(q_i)^T z,  (S, z) = sums over all tokens or, when causal, over those up to i:
// those of the chunks before it (scan.comp), and the tokens of its own chunk one by one.
//
// One workgroup per row; lanes take the chunk's tokens, then the value's features. A row whose denominator is 0 gives
// 0, and -inf for its logarithm. Without NORMALISE the denominator is 1.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/linear_attention.glsl"
#include "params/linear_attention.h"
LINEAR_ATTENTION_ROWS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/reduce.glsl"
shared float query[D];
shared float weights[CHUNK];

void main() {
    uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
    if (workgroup_index() >= p.batch * p.heads * p.n) return;
    uint head = workgroup_index() / p.n, i = workgroup_index() % p.n;
    uint row = head_row(head, i), chunk = p.causal != 0u ? i / CHUNK : 0u, tokens = p.causal != 0u ? i % CHUNK + 1u : 0u;
    for (uint d = lane; d < D; d += lanes) query[d] = feature(load(p.q, X_TYPE, row * D + d));
    barrier();
    float part = 0.0, looked_at = 0.0;
    for (uint j = lane; j < tokens; j += lanes) {
        uint key = head_row(head, chunk * CHUNK + j) * D;
        float weight = 0.0;
        for (uint d = 0u; d < D; ++d) weight += query[d] * feature(load(p.k, X_TYPE, key + d));
        weights[j] = weight;
        part += weight;
        looked_at += 1.0;
    }
    uint cells = first_cell(head, chunk);
    for (uint d = lane; d < D; d += lanes) part += query[d] * ReadFloats(p.sums).at[cells + d * (p.dv + 1u) + p.dv];
    float denominator = NORMALISE ? workgroup_sum(part) + p.eps : 1.0;
    if (COUNTS) looked_at = workgroup_sum(looked_at);
    float logarithm = denominator > 0.0 ? log(denominator) : uintBitsToFloat(0xff800000u);
    if (isnan(denominator)) logarithm = denominator;
    if (lane == 0u) Floats(p.lse).at[row] = COUNTS ? looked_at : logarithm;
    barrier();
    for (uint e = lane; e < p.dv; e += lanes) {
        float sum = 0.0;
        for (uint d = 0u; d < D; ++d) sum += query[d] * ReadFloats(p.sums).at[cells + d * (p.dv + 1u) + e];
        for (uint j = 0u; j < tokens; ++j)
            sum += weights[j] * load(p.v, X_TYPE, head_row(head, chunk * CHUNK + j) * p.dv + e);
        store(p.o, X_TYPE, row * p.dv + e, denominator <= 0.0 ? 0.0 : sum / denominator);  // NaN stays
    }
}
