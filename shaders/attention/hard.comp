// attention that takes one key: o_i = v_j with the largest score s_ij that row i sees, the first of equal ones; lse_i
// is that score. A row that sees nothing gives 0 and -inf. The limit of a softmax whose scale grows (Xu et al. 2015;
// Bahdanau's weights made hard).
//
// One workgroup per row of a head; lanes stride over the keys. Rules as in attention/flash.comp, which this has the
// parameters of; sinks are no keys.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/attention.h"
ATTENTION_OPERAND_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/cache.glsl"
#include "lib/index.glsl"
#include "lib/order.glsl"
layout(push_constant) uniform Push { AttentionParams p; };
#include "lib/attention_rules.glsl"

void main() {
    uint lane = gl_LocalInvocationID.x, at = workgroup_index();
    uint head = at % p.heads, query = at / p.heads % p.n, batch = at / p.heads / p.n;
    if (batch >= p.batch) return;
    uint sequence = sequence_of(p.step, batch);
    uvec2 step = step_of(p.step, batch);
    uint kv_head = head / (p.heads / p.kv_heads);
    uint row = p.heads_first != 0u ? (batch * p.heads + head) * p.n + query : (batch * p.n + query) * p.heads + head;
    uint held = present(p.kv_len) ? min(p.m, uint(max(int(ReadWords(p.kv_len).at[sequence]), 0))) : valid_keys(step, p.m);
    uint keys = query < valid_rows(step, p.n) ? held : 0u;
    if (p.causal != 0u) keys = min(keys, max(causal_keys(step, query, p.n, p.m), PREFIX));
    int i = query_position(step, query, p.n, p.m);
    uvec2 best = uvec2(0u, NO_LIMIT);
    for (uint key = lane; key < keys; key += gl_WorkGroupSize.x) {
        if (RULES && (key >= window_end(i, keys) || !rules_allow(batch, i, key))) continue;
        uint k_row = p.heads_first != 0u ? (batch * p.kv_heads + kv_head) * p.m + key : cache_head_row(sequence, p.m, key, kv_head, p.kv_heads);
        uvec2 k = row_address(p.k, KV_TYPE, k_row & ~1u, D);  // of an even row, which begins on a word
        float score = 0.0;
        for (uint d = 0u; d < D; ++d) score += load(p.q, Q_TYPE, row * D + d) * load(k, KV_TYPE, (k_row & 1u) * D + d);
        score *= p.scale;
        if (RULES) score = ruled_score(score, batch, head, query, i, key);
        if (!(score <= LOWEST)) best = larger(best, uvec2(order_key(floatBitsToUint(score)), key));
    }
    best = workgroup_largest(best);
    bool none = best.y == NO_LIMIT;
    uint v_row = none ? 0u : p.heads_first != 0u ? (batch * p.kv_heads + kv_head) * p.m + best.y
                                                 : cache_head_row(sequence, p.m, best.y, kv_head, p.kv_heads);
    uvec2 v = row_address(p.v, KV_TYPE, v_row & ~1u, DV);
    for (uint e = lane; e < DV; e += gl_WorkGroupSize.x)
        store(p.o, Q_TYPE, row * DV + e, none ? 0.0 : load(v, KV_TYPE, (v_row & 1u) * DV + e));
    if (lane == 0u) Floats(p.lse).at[row] = none ? uintBitsToFloat(0xff800000u) : order_value(best.x);
}
