#include "params/types.h"
VANTAGE_PARAMS_BEGIN
// Sums of a chunk are (D, Dv + 1): columns of phi(k) v^T, and in the last one those of phi(k), as if every value ended in 1.
struct LinearAttentionParams {
    uvec2 q, k, v;  // as in AttentionParams; heads as many for keys as for queries
    uvec2 sums;     // (batch * heads, chunks, D, Dv + 1)
    uvec2 o, lse;   // of the last kernel only
    uint n, batch, heads, d, dv;
    uint chunks, causal, heads_first;
    float eps;
};
struct LinearAttentionScanParams {
    uvec2 sums, state_kv, state_k;  // state_kv (batch * heads, D, Dv), state_k (batch * heads, D)
    uint cells, d, dv, chunks;      // cells = batch * heads * D * (Dv + 1)
    uint causal;
};
VANTAGE_PARAMS_END
