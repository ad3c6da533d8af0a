// One weight of a head, as the tap makes it, times its key's factor: p_ij = exp(s_ij - lse_i) factor_jh. Row i of q is
// the query at position i. The including kernel's parameters are p, a HeadStatisticsParams.
#include "params/head_statistics.h"
HEAD_STATISTICS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/cache.glsl"
#include "lib/index.glsl"
#include "lib/steps.glsl"
layout(push_constant) uniform Push { HeadStatisticsParams p; };
#define BATCHES 1u
#include "lib/attention_rules.glsl"

struct Weight {
    bool seen;
    float value;
};

Weight weight_of(uint head, uint row, uint key) {
    int i = int(row);
    bool allowed = p.causal == 0u || int(key) <= i || key < PREFIX;
    if (!allowed || (RULES && !rules_allow(0u, i, key))) return Weight(false, 0.0);
    uint row_of_q = cache_head_row(0u, p.n, row, head, p.heads);
    uint q0 = row_of_q * p.d, k0 = cache_head_row(0u, p.m, key, head / (p.heads / p.kv_heads), p.kv_heads) * p.d;
    float score = SCORES ? load(p.q, Q_TYPE, q0 + key) : 0.0;
    for (uint d = 0u; !SCORES && d < p.d; d += STEP)
        score += p.scale * step_sum(load_step(p.q, Q_TYPE, q0 + d) * load_step(p.k, K_TYPE, k0 + d));
    if (RULES) score = ruled_score(score, 0u, head, row, i, key);
    float lse = ReadFloats(p.lse).at[row_of_q];
    if (lse <= LOWEST || score <= LOWEST) return Weight(false, 0.0);  // NaN is seen
    float factor = present(p.factors) ? ReadFloats(p.factors).at[key * p.heads + head] : 1.0;
    float logarithm = score - lse;
    return Weight(true, (isnan(logarithm) ? logarithm : exp(logarithm)) * factor);  // not every device's exp keeps NaN
}

uint token_id(uint at) { return ReadWords(p.tokens).at[2u * at]; }
bool has_mark(uint at, uint mark) { return (ReadWords(p.tokens).at[2u * at + 1u] & mark) != 0u; }

// The place of a query's token among the tokens.
uint query_token(uint row) { return p.apart != 0u ? p.m + row : row; }
bool in_line() { return p.apart == 0u && p.columns == 0u; }  // one text: keys before and after the query are defined

const float NOWHERE = 3.0e38;  // the distance where there is none
float distance_between(uint row, uint key) {
    if (p.apart != 0u) return NOWHERE;
    int i = int(row), j = int(key), columns = int(p.columns);
    if (columns == 0 || i == j) return float(abs(i - j));
    if (i == 0 || j == 0) return NOWHERE;
    vec2 step = vec2((i - 1) / columns - (j - 1) / columns, (i - 1) % columns - (j - 1) % columns);
    return sqrt(dot(step, step));
}
// Neither the first key, nor the query, nor its neighbours (on a grid: touching it).
bool is_far(uint row, uint key) { return key > 0u && distance_between(row, key) > 1.5; }
