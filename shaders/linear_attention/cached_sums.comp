// cached_linear_attention, first of two: what the keys before each chunk of the run's rows sum to,
//   S = sum_j e^(l_j - L) phi(k_j) (v_j, 1)^T,  L = max l_j, or 0 without key_log,
// or without a causal mask all keys. Chunks count from the first key of the sequence, so that the sums of a chunk are
// the same whatever run made them.
//
// One invocation per cell of a key head's S; it runs over the keys. On devices that end long loops there are several
// launches; each continues from the sums that the previous one stored in a slot.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "params/linear_attention.h"
CACHED_LINEAR_ATTENTION_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/cached_linear_attention.glsl"

void main() {
    uint i = invocation_index(), head = i / cells(), cell = i % cells();
    if (head >= p.batch * p.kv_heads) return;
    uint batch = head / p.kv_heads, kv_head = head % p.kv_heads, d = cell / (p.dv + 1u), e = cell % (p.dv + 1u);
    uint sequence = sequence_of(p.step, batch);
    uvec2 step = step_of(p.step, batch);
    uint keys = valid_keys(step, p.m), first = chunk_of_run(step);
    float total = 0.0, maximum = present(p.key_log) ? LOWEST : 0.0;
    if (p.first_chunk > 0u) {
        uint before = first_cell(head, p.sums_before);
        total = ReadFloats(p.sums).at[before + cell], maximum = ReadFloats(p.sums).at[before + cells()];
    }
    for (uint chunk = p.first_chunk; chunk < p.end_chunk && chunk * CHUNK < keys; ++chunk) {
        if (p.causal != 0u && chunk >= first) put_sum(head, chunk - first, cell, total, maximum);
        uint begin = chunk * CHUNK, end = min(begin + CHUNK, keys);
        float peak = maximum, sum = 0.0;
        if (present(p.key_log))
            for (uint j = begin; j < end; ++j) peak = max(peak, key_log(sequence, j, kv_head));
        for (uint j = begin; j < end; ++j) {
            uint row = cache_head_row(sequence, p.m, j, kv_head, p.kv_heads);
            float value = e < p.dv ? load(p.v, KV_TYPE, row * p.dv + e) : 1.0;
            if (present(p.key_log)) value *= exp(key_log(sequence, j, kv_head) - peak);
            sum += feature(load(p.k, KV_TYPE, row * p.d + d)) * value;
        }
        total = total * exp(maximum - peak) + sum;
        maximum = peak;
    }
    if (p.causal == 0u) put_sum(head, 0u, cell, total, maximum);
    if (p.sums_after < p.slots) put_sum(head, p.sums_after, cell, total, maximum);
}
