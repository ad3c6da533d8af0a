#include "params/types.h"
#ifndef VANTAGE_LINEAR_ATTENTION_H
#define VANTAGE_LINEAR_ATTENTION_H
VANTAGE_PARAMS_BEGIN
// Sums of a chunk are (D, Dv + 1): columns of phi(k) v^T, and in the last one those of phi(k), as if every value ended
// in 1.
struct LinearAttentionParams {
    uvec2 q, k, v;  // as in AttentionParams; heads as many for keys as for queries
    uvec2 sums;     // (batch * heads, chunks, D, Dv + 1)
    uvec2 o, lse;   // of the last kernel only
    uint n, batch, heads, d, dv;
    uint chunks, causal, heads_first;
    float eps;
};
// Numbers of a row: stats (rows, 2) = 1 / n, -delta / n, with the denominator n and delta = dout · o - dlse.
struct LinearAttentionStatsParams {
    uvec2 dout, o, lse, dlse, stats;  // dlse f32 or 0
    uint rows, dv;
};
// Sums as in front, and sums of phi(q) (dout / n, -delta / n)^T by chunks from the last to the first.
struct LinearAttentionBackwardScanParams {
    uvec2 sums, sums_after, dstate_kv, dstate_k;  // of a state's gradients f32 or 0
    uint cells, d, dv, chunks, causal;
};
struct LinearAttentionBackwardParams {
    uvec2 q, k, v, dout, stats;
    uvec2 sums;  // those before or after a chunk
    uvec2 result;
    uint n, batch, heads, d, dv;
    uint chunks, causal, heads_first;
};
struct LinearAttentionScanParams {
    uvec2 sums, state_kv, state_k;  // state_kv (batch * heads, D, Dv), state_k (batch * heads, D)
    uint cells, d, dv, chunks;      // cells = batch * heads * D * (Dv + 1)
    uint causal;
};
// Of a cache. Sums are relative to e^L, which a slot has in its last element.
struct CachedLinearAttentionParams {
    uvec2 q, k, v;        // (batch, n, heads, D), (batch, m, kv_heads, D), (batch, m, kv_heads, Dv)
    uvec2 step, key_log;  // (batch) steps; (batch, m, kv_heads) f32 or 0
    uvec2 sums;           // (batch * kv_heads, slots, D (Dv + 1) + 1)
    uvec2 o, lse;         // of the last kernel only
    uint n, m, batch, heads, kv_heads, d, dv;
    uint slots, causal;
    // Of the first kernel: its chunks of keys, [first_chunk, end_chunk), and the slots that hold the sums before and
    // after them where there are several launches.
    uint first_chunk, end_chunk, sums_before, sums_after;
};
VANTAGE_PARAMS_END

#define LINEAR_ATTENTION_CONSTANTS(C)                                                  \
    C(1, uint, X_TYPE, 0)  /* q, k, v, o */                                            \
    C(2, uint, FEATURE, 0) /* 0: x itself, not negative if NORMALISE; 1: elu(x) + 1 */ \
    C(3, uint, CHUNK, 64)  /* tokens of a chunk */
VANTAGE_CONSTANTS(LinearAttentionConstants, VANTAGE_NO_CONSTANTS, LINEAR_ATTENTION_CONSTANTS)

#define LINEAR_ATTENTION_ROWS_CONSTANTS(C)                                                      \
    C(4, uint, D, 64)                                                                           \
    C(5, bool, COUNTS, false) /* for tests: lse is the number of keys that the row looked at */ \
    C(6, bool, NORMALISE, true)
VANTAGE_CONSTANTS(LinearAttentionRowsConstants, LINEAR_ATTENTION_CONSTANTS, LINEAR_ATTENTION_ROWS_CONSTANTS)

#define LINEAR_ATTENTION_STATS_CONSTANTS(C) C(1, uint, X_TYPE, 0) C(2, bool, NORMALISE, true)
VANTAGE_CONSTANTS(LinearAttentionStatsConstants, VANTAGE_NO_CONSTANTS, LINEAR_ATTENTION_STATS_CONSTANTS)

#define LINEAR_ATTENTION_BACKWARD_CONSTANTS(C)               \
    C(4, uint, BY, 0)     /* the result: 0 dq, 1 dk, 2 dv */ \
    C(5, uint, TERMS, 65) /* D of dv, else Dv + 1 */
VANTAGE_CONSTANTS(LinearAttentionBackwardConstants, LINEAR_ATTENTION_CONSTANTS, LINEAR_ATTENTION_BACKWARD_CONSTANTS)

#define CACHED_LINEAR_ATTENTION_CONSTANTS(C)                              \
    C(1, uint, Q_TYPE, 0)  /* q and o */                                  \
    C(2, uint, KV_TYPE, 0) /* k and v */                                  \
    C(3, uint, FEATURE, 0) /* 0: x itself, not negative; 1: elu(x) + 1 */ \
    C(4, uint, CHUNK, 64)  /* tokens of a chunk */
VANTAGE_CONSTANTS(CachedLinearAttentionConstants, VANTAGE_NO_CONSTANTS, CACHED_LINEAR_ATTENTION_CONSTANTS)

#define CACHED_LINEAR_ATTENTION_ROWS_CONSTANTS(C) CACHED_LINEAR_ATTENTION_CONSTANTS(C) C(5, uint, D, 64)
VANTAGE_CONSTANTS(CachedLinearAttentionRowsConstants, VANTAGE_NO_CONSTANTS, CACHED_LINEAR_ATTENTION_ROWS_CONSTANTS)
#endif
