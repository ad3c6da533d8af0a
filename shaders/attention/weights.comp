// The tap: p_ij = exp(s_ij - lse_i), s_ij = scale q_i k_j and the rules, for a window of rows and keys of one head, 0 where masked.
// With a FEATURE map phi (linear attention) p_ij = phi(q_i) phi(k_j) exp(-lse_i), without a scale.
// One invocation per weight, one dot product each: exact because q, k and lse are the values that the flash kernel used.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint Q_TYPE = 0;
layout(constant_id = 2) const uint K_TYPE = 0;
#include "lib/index.glsl"
#include "lib/cache.glsl"
#include "params/attention.h"
layout(constant_id = 21) const uint FEATURE = 0;  // 0: none, a softmax; 1: elu(x) + 1; 2: x itself
layout(push_constant) uniform Push { AttentionWeightsParams p; };
#include "lib/attention_rules.glsl"

void main() {
    uint i = invocation_index();
    if (i >= p.rows * p.keys) return;
    uint row = p.first_row + i / p.keys, key = p.first_key + i % p.keys;
    int position = int(p.position + row);
    bool seen = p.causal == 0u || int(key) <= position || key < PREFIX;
    if (!seen || (RULES && !rules_allow(0u, position, key))) {
        Floats(p.p).at[i] = 0.0;
        return;
    }
    uint kv_head = p.head / (p.heads / p.kv_heads);
    uint row_of_q = cache_head_row(0u, p.n, row, p.head, p.heads);
    uint q0 = row_of_q * p.d, k0 = cache_head_row(0u, p.m, key, kv_head, p.kv_heads) * p.d;
    float score = 0.0;
    for (uint d = 0u; d < p.d; ++d) {
        float q = load(p.q, Q_TYPE, q0 + d), k = load(p.k, K_TYPE, k0 + d);
        score += FEATURE == 1u ? elu_plus_1(q) * elu_plus_1(k) : FEATURE == 2u ? q * k : p.scale * q * k;
    }
    if (RULES) score = ruled_score(score, 0u, p.head, row, position, key);
    float lse = ReadFloats(p.lse).at[row_of_q];
    float weight = FEATURE > 0u ? score * exp(-lse) : exp(score - lse);
    if (isnan(score) || isnan(lse)) weight = score + lse;  // not every device's exp keeps NaN
    Floats(p.p).at[i] = lse <= LOWEST || score <= LOWEST ? 0.0 : weight;
}
