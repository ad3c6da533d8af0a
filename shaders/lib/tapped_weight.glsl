// One weight of a head, recomputed from the results of the flash kernel: p_ij = exp(s_ij - lse_i), or with a FEATURE
// map phi (linear attention) phi(q_i) phi(k_j) exp(-lse_i). FEATURE 3: row i of q has the scores s_ij. The including
// kernel's parameters are p, with the addresses q, k and lse, and n, m, heads, kv_heads, d, causal, scale and what the
// rules need.
#include "params/attention.h"
ATTENTION_WEIGHTS_CONSTANTS(VANTAGE_CONSTANT)
#define BATCHES 1u
#include "lib/attention_rules.glsl"
#include "lib/cache.glsl"
#include "lib/steps.glsl"

struct TappedWeight {
    bool seen;
    float score;  // s_ij
    float value;  // p_ij
};
const TappedWeight UNSEEN = TappedWeight(false, LOWEST, 0.0);

vec4 featured(vec4 x) {
    if (FEATURE == 1u) return vec4(elu_plus_1(x.x), elu_plus_1(x.y), elu_plus_1(x.z), elu_plus_1(x.w));
    return x;
}

// `position` is that of the query among the keys.
bool tap_sees(int position, uint key) {
    bool allowed = p.causal == 0u || int(key) <= position || key < PREFIX;
    return allowed && !(RULES && !rules_allow(0u, position, key));
}
// From the product of the query and the key, and the row's log-sum-exp.
TappedWeight tapped_weight_of(float score, float lse, uint head, uint row, int position, uint key) {
    if (FEATURE == 0u) score *= p.scale;
    if (RULES) score = ruled_score(score, 0u, head, row, position, key);
    if (lse <= LOWEST || score <= LOWEST) return UNSEEN;
    float value = FEATURE == 1u || FEATURE == 2u ? score * exp(-lse) : exp(score - lse);
    if (isnan(score) || isnan(lse)) value = score + lse;  // not every device's exp keeps NaN
    return TappedWeight(true, score, value);
}

TappedWeight tapped_weight(uint head, uint row, int position, uint key) {
    if (!tap_sees(position, key)) return UNSEEN;
    uint row_of_q = cache_head_row(0u, p.n, row, head, p.heads);
    uint q0 = row_of_q * p.d, k0 = cache_head_row(0u, p.m, key, head / (p.heads / p.kv_heads), p.kv_heads) * p.d;
    if (FEATURE == 3u) {
        Row scores = row_of(p.q, Q_TYPE, row_of_q, p.d);
        float own = load(scores.address, Q_TYPE, scores.begin + key);
        return tapped_weight_of(own, ReadFloats(p.lse).at[row_of_q], head, row, position, key);
    }
    float score = 0.0;
    for (uint d = 0u; d < p.d; d += STEP)
        score += step_sum(featured(load_step(p.q, Q_TYPE, q0 + d)) * featured(load_step(p.k, K_TYPE, k0 + d)));
    return tapped_weight_of(score, ReadFloats(p.lse).at[row_of_q], head, row, position, key);
}
