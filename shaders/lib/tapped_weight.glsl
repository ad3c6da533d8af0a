// One weight of a head, recomputed from the results of the flash kernel: p_ij = exp(s_ij - lse_i); with a FEATURE map
// phi (linear attention) phi(q_i) phi(k_j) exp(bias_ij - lse_i). FEATURE 3: row i of q has the scores s_ij. FEATURE 4:
// hard attention, 1 for the key whose number lse_i is, else 0. The including kernel's parameters are p, with the
// addresses q, k and lse, and n, m, heads, kv_heads, d, causal, scale and what the rules need.
#include "params/attention.h"
ATTENTION_WEIGHTS_CONSTANTS(VANTAGE_CONSTANT)
#define BATCHES 1u
#include "lib/attention_rules.glsl"
#include "lib/cache.glsl"
#include "lib/steps.glsl"

struct TappedWeight {
    bool seen;
    float score;  // s_ij, or the logarithm of what the features make of it
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
    if (FEATURE == 1u || FEATURE == 2u) {
        if (lse <= LOWEST) return UNSEEN;
        float bias = present(p.position_bias) ? position_bias(0u, head, row, position, key) : 0.0;
        float weight = isnan(score) || isnan(lse) ? score + lse : score * exp(bias - lse);
        return TappedWeight(true, log(max(score, 1.0e-37)) + bias, weight);
    }
    score *= p.scale;
    if (RULES) score = ruled_score(score, 0u, 0u, head, row, position, key);
    if (lse <= LOWEST || score <= LOWEST) return UNSEEN;
    if (FEATURE == 4u) return TappedWeight(true, score, isnan(lse) ? lse : float(key) == lse ? 1.0 : 0.0);
    float value = exp(score - lse);
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
    for (uint d = 0u; d < p.d; d += STEP) {
        vec4 q = featured(load_step(p.q, Q_TYPE, q0 + d)), k = featured(load_step(p.k, K_TYPE, k0 + d));
        score += ADDITIVE ? additive_part(q, k, d, STEP) : step_sum(q * k);
    }
    return tapped_weight_of(score, ReadFloats(p.lse).at[row_of_q], head, row, position, key);
}
