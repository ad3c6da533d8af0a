// cached_linear_attention, second of two:
//   o_i = phi(q_i)^T S / phi(q_i)^T z,  (S, z) = sums over the keys that row i sees:
// those before its chunk, or without a causal mask all (cached_sums.comp), and the keys of its own chunk one by one.
//
// One workgroup per row of a head; lanes take the chunk's keys, then the value's features. Rows that the run does not
// have, and rows whose denominator is 0, give 0, and -inf for its logarithm.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "params/linear_attention.h"
CACHED_LINEAR_ATTENTION_ROWS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/cached_linear_attention.glsl"
#include "lib/reduce.glsl"
shared float query[D];
shared float weights[CHUNK];

void main() {
    uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x, row = workgroup_index();
    uint head = row % p.heads, i = row / p.heads % p.n, batch = row / p.heads / p.n;
    if (batch >= p.batch) return;
    uint kv_head = head / (p.heads / p.kv_heads), sequence = sequence_of(p.step, batch);
    uvec2 step = step_of(p.step, batch);
    bool real = i < valid_rows(step, p.n);
    uint position = ReadWords(step).at[STEP_POSITION] + i, chunk = position / CHUNK;
    uint keys = real && p.causal != 0u ? position % CHUNK + 1u : 0u;  // of its own chunk
    uint slot = real && p.causal != 0u ? chunk - chunk_of_run(step) : 0u;
    uint cells_of_slot = first_cell(batch * p.kv_heads + kv_head, slot);
    for (uint d = lane; d < D; d += lanes) query[d] = real ? feature(load(p.q, Q_TYPE, row * D + d)) : 0.0;
    float maximum = ReadFloats(p.sums).at[cells_of_slot + cells()], peak = maximum;
    if (present(p.key_log)) {
        for (uint j = lane; j < keys; j += lanes) peak = max(peak, key_log(sequence, chunk * CHUNK + j, kv_head));
        peak = workgroup_max(peak);
    }
    barrier();
    float part = 0.0, shrink = exp(maximum - peak);
    for (uint j = lane; j < keys; j += lanes) {
        uint key = cache_head_row(sequence, p.m, chunk * CHUNK + j, kv_head, p.kv_heads) * D;
        float weight = 0.0;
        for (uint d = 0u; d < D; ++d) weight += query[d] * feature(load(p.k, KV_TYPE, key + d));
        if (present(p.key_log)) weight *= exp(key_log(sequence, chunk * CHUNK + j, kv_head) - peak);
        weights[j] = weight;
        part += weight;
    }
    if (real)
        for (uint d = lane; d < D; d += lanes) part += shrink * query[d] * ReadFloats(p.sums).at[cells_of_slot + d * (p.dv + 1u) + p.dv];
    float denominator = workgroup_sum(part);
    float logarithm = denominator > 0.0 ? log(denominator) + peak : uintBitsToFloat(0xff800000u);
    if (isnan(denominator)) logarithm = denominator;
    if (lane == 0u) Floats(p.lse).at[row] = logarithm;
    barrier();
    for (uint e = lane; e < p.dv; e += lanes) {
        float sum = 0.0;
        if (real)
            for (uint d = 0u; d < D; ++d) sum += query[d] * ReadFloats(p.sums).at[cells_of_slot + d * (p.dv + 1u) + e];
        sum *= shrink;
        for (uint j = 0u; j < keys; ++j)
            sum += weights[j] * load(p.v, KV_TYPE, cache_head_row(sequence, p.m, chunk * CHUNK + j, kv_head, p.kv_heads) * p.dv + e);
        store(p.o, Q_TYPE, row * p.dv + e, !real || denominator <= 0.0 ? 0.0 : sum / denominator);  // NaN stays
    }
}
