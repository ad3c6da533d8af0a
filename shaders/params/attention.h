#include "params/types.h"
#ifndef VANTAGE_ATTENTION_H
#define VANTAGE_ATTENTION_H
VANTAGE_PARAMS_BEGIN
// Tokens-first layout: q (batch, n, heads, D), k (batch, m, kv_heads, D), v (batch, m, kv_heads, Dv), o (batch, n, heads, Dv),
// lse (batch, n, heads). Heads-first: (batch, heads, n, D) and so on.
struct AttentionParams {
    uvec2 q, k, v;
    uvec2 step, kv_len;          // (batch) steps or 0; (batch) i32 or 0
    uvec2 mask, position_bias;   // (batch or 1, heads or 1, n, m) f32 or 0; see lib/attention_rules.glsl
    uvec2 block_mask, segments;  // (blocks, blocks) i32 or 0; (batch, m) i32 or 0
    uvec2 sinks;                 // (heads) f32 or 0
    uvec2 o,
        lse;  // one pass: results. Split: partial sums (splits, rows, Dv) and (splits, rows, 2) = maximum, denominator; with
              // statistics (splits, rows, 3), lib/row_statistics.glsl, in one pass, too
    uint n, m;  // queries; keys, or rows of the cache
    uint batch, heads, kv_heads;
    uint causal, heads_first;  // 0 or 1
    float scale;
};
struct AttentionReduceSplitsParams {
    uvec2 sums, partials, step;  // (splits, rows, Dv), (splits, rows, 2 or 3)
    uvec2 o, lse, sinks;
    uvec2 entropy, largest;  // (rows), with statistics
    uint m, rows, dv;        // rows = batch * n * heads
    uint n, heads, heads_first;
};
struct AttentionStatisticsParams {
    uvec2 partials, sinks;        // (rows, 3), (heads)
    uvec2 lse, entropy, largest;  // (rows)
    uint rows, n, heads, heads_first;
};
struct AttentionWeightsParams {
    uvec2 q, k, lse;                                  // (n, heads, D), (m, kv_heads, D), (n, heads)
    uvec2 mask, position_bias, block_mask, segments;  // as in AttentionParams
    uvec2 p;                                          // (rows, keys)
    uint n, m, heads, kv_heads, head, d, causal;
    uint first_row, rows, first_key, keys;
    uint position;  // of row 0 of q
    float scale;
};
VANTAGE_PARAMS_END
#endif
