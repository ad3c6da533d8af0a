// attention that takes one key: o_i = v_j with the largest score s_ij that row i sees, the first of equal ones; lse_i
// is that score. A row that sees nothing gives 0 and -inf. The number of the key is a result, too, -1 for none. A score
// that is no number makes all of them NaN. The limit of a softmax whose scale grows (Xu et al. 2015; Bahdanau's weights
// made hard).
//
// One workgroup per row of a head; lanes stride over the keys. Rules as in attention/flash.comp, which this has the
// parameters of; sinks are no keys, and both parts of a union are taken at once.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/attention.h"
ATTENTION_OPERAND_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/order.glsl"
layout(push_constant) uniform Push { AttentionParams p; };
const uint ROWS = 1u, SPLIT = 0u;
const uint NO_NUMBER = 0xffffffffu;  // above the keys of all floats
#include "lib/attention_rows.glsl"

void main() {
    if (batch >= p.batch || query_of(0u) >= p.n) return;
    uint lane = gl_LocalInvocationID.x, head = head_of(0u), row = result_row(0u), end = visible(0u, valid_rows(own_step, p.n), keys_there());
    int i = position_of(0u);
    uvec2 best = uvec2(0u, NO_LIMIT);
    for (uint place = lane; place < end; place += gl_WorkGroupSize.x) {
        uint key = key_at(place);
        if (RULES && !rules_allow(sequence, i, key)) continue;
        uint k_row = key_row(key);
        uvec2 k = row_address(p.k, KV_TYPE, k_row & ~1u, D);  // of an even row, which begins on a word
        float score = 0.0;
        for (uint d = 0u; d < D; ++d) score += load(p.q, Q_TYPE, row * D + d) * load(k, KV_TYPE, (k_row & 1u) * D + d);
        score *= p.scale;
        if (RULES) score = ruled_score(score, batch, sequence, head, query_of(0u), i, key);
        if (!(score <= LOWEST)) best = larger(best, uvec2(isnan(score) ? NO_NUMBER : order_key(floatBitsToUint(score)), key));
    }
    best = workgroup_largest(best);
    bool none = best.y == NO_LIMIT, broken = best.x == NO_NUMBER;
    float nan = uintBitsToFloat(0x7fc00000u);
    uint v_row = none ? 0u : key_row(best.y);
    uvec2 v = row_address(p.v, KV_TYPE, v_row & ~1u, DV);
    for (uint e = lane; e < DV; e += gl_WorkGroupSize.x)
        store(p.o, Q_TYPE, row * DV + e, broken ? nan : none ? 0.0 : load(v, KV_TYPE, (v_row & 1u) * DV + e));
    if (lane > 0u) return;
    Floats(p.sinks).at[row] = broken ? nan : none ? -1.0 : float(best.y);
    Floats(p.lse).at[row] = broken ? nan : none ? uintBitsToFloat(0xff800000u) : order_value(best.x);
}
