#include "params/attention.h"
#ifndef VANTAGE_ATTENTION_BACKWARD_H
#define VANTAGE_ATTENTION_BACKWARD_H
VANTAGE_PARAMS_BEGIN
// Layouts as in AttentionParams. Of distance_weights_backward dout is (n, heads, DV distances), stats (n, heads) = lse.
struct AttentionBackwardParams {
    uvec2 dout, q, k, v;
    uvec2 stats;   // (batch, n, heads, 2) = lse, delta; then the words of dropout
    uvec2 kv_len;  // (batch) i32 or 0
    uvec2 mask, position_bias, block_mask, segments;
    // By row: dq, and sums of the scores' gradients for the bias (batch, n, heads, BINS). By key: dk and dv. By key for
    // a bias: (batch, m, heads), or (batch, m, kv_heads, BINS).
    uvec2 first, second;
    uint n, m, batch, heads, kv_heads, causal, heads_first;
    float scale;
};
struct AttentionDeltaParams {
    uvec2 dout, o, lse, dlse, dropout;  // dlse and dropout may be 0
    uvec2 stats;
    uint rows;
};
struct AttentionSinkGradientParams {
    uvec2 stats, sinks, dsinks;        // (heads) f32 twice
    uint rows, n, heads, heads_first;  // rows = batch * n * heads
};
VANTAGE_PARAMS_END

#define ATTENTION_BACKWARD_CONSTANTS(C)                                    \
    ATTENTION_OPERAND_CONSTANTS(C)                                         \
    C(5, uint, EACH, 1)      /* features of a lane: of D or DV */          \
    C(6, uint, BINS, 0)      /* numbers that a row or key has of a bias */ \
    C(7, uint, BINS_EACH, 1) /* of a lane */
VANTAGE_CONSTANTS(AttentionBackwardConstants, ATTENTION_RULE_CONSTANTS, ATTENTION_BACKWARD_CONSTANTS)

// On matrix units; f16 operands go through shared memory SLICE features, or met rows, at a time.
#define ATTENTION_BACKWARD_MATRIX_CONSTANTS(C) \
    ATTENTION_OPERAND_CONSTANTS(C)             \
    C(5, uint, M, 16) C(6, uint, N, 16) C(7, uint, K, 16) C(8, uint, SLICE, 16) C(21, uint, SUBGROUPS, 8)
VANTAGE_CONSTANTS(AttentionBackwardMatrixConstants, ATTENTION_RULE_CONSTANTS, ATTENTION_BACKWARD_MATRIX_CONSTANTS)

#define ATTENTION_DELTA_CONSTANTS(C) C(1, uint, Q_TYPE, 0) C(2, uint, DV, 64)
VANTAGE_CONSTANTS(AttentionDeltaConstants, VANTAGE_NO_CONSTANTS, ATTENTION_DELTA_CONSTANTS)
#endif
