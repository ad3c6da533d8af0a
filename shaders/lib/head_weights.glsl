// One weight of a head, as the tap makes it, times its key's factor: p_ij = exp(s_ij - lse_i) factor_jh. Row i of q is
// the query at position i. The including kernel's parameters are p, a HeadStatisticsParams.
#include "params/head_statistics.h"
#include "lib/index.glsl"
layout(push_constant) uniform Push { HeadStatisticsParams p; };
#include "lib/tapped_weight.glsl"

TappedWeight weight_of(uint head, uint row, uint key) {
    TappedWeight weight = tapped_weight(head, row, int(row), key);
    if (present(p.factors)) weight.value *= ReadFloats(p.factors).at[key * p.heads + head];
    return weight;
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
