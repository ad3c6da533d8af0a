// Entropy and largest weight of a row of attention, from sums made online. With w_j = exp(s_j - m) below the running
// maximum m,
//   l = sum_j w_j,  d = sum_j w_j (s_j - m)
// and when the maximum moves to M:
//   l -> l e^(m-M),  d -> (d + (m-M) l) e^(m-M)
// In the end p_j = w_j / L, L = l and a sink's share:
//   entropy = -sum_j p_j ln p_j = (l ln L - d) / L,  largest = 1 / L
// A row that sees no key has the entropy 0, the largest weight 0, and as its log-sum-exp the sink's logit, -inf
// without one. A row with a score that is NaN or +inf has NaN for all three: what went wrong is to be seen, and never
// looks like an empty row.
#include "lib/sinks.glsl"

// d when the maximum moves, but for the factor e^(m-M). A row without keys has a maximum that is no score.
float drop_moved(float drop, float denominator, float from, float to) {
    return denominator > 0.0 ? drop + (from - to) * denominator : 0.0;
}

void store_statistics(uint row, float keys_maximum, float keys_denominator, float drop, uvec2 sinks, uint head, uvec2 lse, uvec2 entropy,
                      uvec2 largest) {
    float maximum = keys_maximum, denominator = keys_denominator, shrink = with_sink(maximum, denominator, sinks, head);
    drop = drop_moved(drop, keys_denominator, keys_maximum, maximum) * shrink;
    bool empty = denominator == 0.0, wrong = isnan(denominator);  // not every device's logarithm keeps NaN
    float log_all = empty ? 0.0 : log(denominator);
    float h = empty ? 0.0 : (keys_denominator * shrink * log_all - drop) / denominator;
    Floats(lse).at[row] = wrong ? denominator : empty ? uintBitsToFloat(0xff800000u) : maximum + log_all;
    Floats(entropy).at[row] = wrong ? denominator : max(h, 0.0);
    Floats(largest).at[row] = keys_denominator == 0.0 ? 0.0 : shrink / denominator;
}
