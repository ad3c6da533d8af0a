#include "params/types.h"
#ifndef VANTAGE_ATTENTION_H
#define VANTAGE_ATTENTION_H
#define NO_LIMIT 0xffffffffu  // of a window
#define PART_ALL 0u
#define PART_NEAR 1u
#define PART_FAR 2u
VANTAGE_PARAMS_BEGIN
// Tokens-first layout: q (batch, n, heads, D), k (batch, m, kv_heads, D), v (batch, m, kv_heads, Dv), o (batch, n,
// heads, Dv), lse (batch, n, heads). Heads-first: (batch, heads, n, D) and so on.
struct AttentionParams {
    uvec2 q, k, v;
    uvec2 step, kv_len;          // (batch) steps or 0, with DROPOUT its words; (batch) i32 or 0
    uvec2 mask, position_bias;   // (batch or 1, heads or 1, n, m) f32 or 0; see lib/attention_rules.glsl
    uvec2 block_mask, segments;  // (1 or sequences, blocks, blocks) i32 or 0; (batch, m) i32 or 0
    uvec2 sinks;                 // (heads) f32 or 0; of attention/hard.comp, which has none, its result: the keys
    // One pass: results. Split, or a part of a union: partial sums (splits, rows, Dv) and (splits, rows, 2) = maximum,
    // denominator, those of the far part after those of the near one. With statistics lse is (splits, rows, 3), see
    // lib/row_statistics.glsl; also in one pass, with 1 split.
    uvec2 o, lse;
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
    uint all_splits;  // partial results of all m keys, whatever the step says
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

#define ATTENTION_DROPOUT_CONSTANT(C) C(29, bool, DROPOUT, false) /* of weights, see lib/dropout.glsl */
#define ATTENTION_RULE_CONSTANTS(C)                                                                                    \
    C(9, bool, RULES, false) /* any of those below but PREFIX, or an operand */                                        \
    C(10, float, SOFTCAP, 0.0)                                                                                         \
    C(11, uint, WINDOW_LEFT, NO_LIMIT)                                                                                 \
    C(12, uint, WINDOW_RIGHT, NO_LIMIT)                                                                                \
    C(13, uint, DILATION, 1)                                                                                           \
    C(14, uint, PREFIX, 0) /* keys that a causal mask leaves visible */                                                \
    C(15, uint, GLOBAL, 0) /* tokens that see all, and are seen by all, whatever the window */                         \
    C(16, uint, BLOCK, 0)  /* tokens of a block of the block mask */                                                   \
    C(17, bool, MASK_BY_HEAD, false)                                                                                   \
    C(18, bool, MASK_BY_BATCH, false)                                                                                  \
    C(19, uint, BIAS, 0) /* by position: 0 slopes (heads), 1 by distance (2 REACH + 1, heads), 2 by key (m, heads), */ \
    /* relative: 3 to queries, 4 to keys, too; 5 by key and its head (m, kv_heads); 6 none, see ADDITIVE */            \
    C(20, uint, REACH, 0)                                                                                              \
    C(25, uint, STRIDE, 0)             /* not 0: far keys besides the near ones, see lib/attention_rules.glsl */       \
    C(26, uint, SUMMARY_KEYS, 0)       /* of a block of STRIDE keys the last ones, which are far keys then */          \
    C(27, uint, PART, 0)               /* of a union: PART_NEAR or PART_FAR, whose sums are joined after it */         \
    C(28, bool, BLOCK_BY_BATCH, false) /* each sequence has a block mask of its own */                                 \
    C(30, bool, PACKED, false)         /* segments ascend: tiles that share none are skipped */                        \
    ATTENTION_DROPOUT_CONSTANT(C)

/// Of every kernel: storage of q and o, of k and v; widths of queries and keys, and of values (cpu_simd: multiples of
/// 4); whether k and v have a part for each lane of the run, not for each sequence.
#define ATTENTION_OPERAND_CONSTANTS(C) \
    C(1, uint, Q_TYPE, 0)              \
    C(2, uint, KV_TYPE, 0)             \
    C(3, uint, D, 64)                  \
    C(4, uint, DV, 64)                 \
    C(31, bool, KEYS_BY_LANE, false)

#define ATTENTION_CONSTANTS(C)                                                                       \
    ATTENTION_OPERAND_CONSTANTS(C)                                                                   \
    C(5, uint, ROWS, 1)                                                                              \
    C(6, uint, SPLIT, 0) /* keys per workgroup, 0 = all */                                           \
    C(7, uint, WIDE, 1)  /* elements of a key that are read at a time, 8, 4 or 1: D is a multiple */ \
    C(8, uint, EACH, 1)  /* features of v per lane: ceil(DV / lanes) */                              \
    C(21, bool, STATISTICS, false)                                                                   \
    C(22, bool, COUNTS,                                                                              \
      false) /* for tests: a row's maximum is 0 and its denominator the keys that were scored for it */
VANTAGE_CONSTANTS(AttentionConstants, ATTENTION_RULE_CONSTANTS, ATTENTION_CONSTANTS)

VANTAGE_CONSTANTS(AttentionHardConstants, ATTENTION_RULE_CONSTANTS, ATTENTION_OPERAND_CONSTANTS)

#define ATTENTION_CPU_SIMD_CONSTANTS(C) ATTENTION_OPERAND_CONSTANTS(C) C(5, uint, KEYS, 8) C(22, bool, COUNTS, false)
VANTAGE_CONSTANTS(AttentionCpuSimdConstants, ATTENTION_RULE_CONSTANTS, ATTENTION_CPU_SIMD_CONSTANTS)

#define ATTENTION_CPU_ROWS_CONSTANTS(C) ATTENTION_OPERAND_CONSTANTS(C) C(5, uint, ROWS, 1) C(6, uint, SPLIT, 256)
VANTAGE_CONSTANTS(AttentionCpuRowsConstants, ATTENTION_RULE_CONSTANTS, ATTENTION_CPU_ROWS_CONSTANTS)

#define ATTENTION_TILED_CONSTANTS(C) ATTENTION_OPERAND_CONSTANTS(C) C(22, bool, COUNTS, false)
VANTAGE_CONSTANTS(AttentionTiledConstants, ATTENTION_RULE_CONSTANTS, ATTENTION_TILED_CONSTANTS)

#define ATTENTION_COOPMAT2_CONSTANTS(C)                       \
    ATTENTION_OPERAND_CONSTANTS(C)                            \
    C(5, uint, STRIPES, 4)                                    \
    C(7, uint, KEYS, 32)                                      \
    C(8, uint, M, 16) /* 9 to 20: lib/attention_rules.glsl */ \
    C(21, uint, N, 16)                                        \
    C(22, uint, K, 16)                                        \
    C(23, uint, STEP_D, 1) /* 8 where D % 8 == 0 */           \
    C(24, uint, STEP_DV, 1)
VANTAGE_CONSTANTS(AttentionCoopmat2Constants, ATTENTION_RULE_CONSTANTS, ATTENTION_COOPMAT2_CONSTANTS)

#define ATTENTION_COOPMAT_CONSTANTS(C) ATTENTION_COOPMAT2_CONSTANTS(C) C(6, uint, SHARES, 1)
VANTAGE_CONSTANTS(AttentionCoopmatConstants, ATTENTION_RULE_CONSTANTS, ATTENTION_COOPMAT_CONSTANTS)

#define ATTENTION_REDUCE_SPLITS_CONSTANTS(C) \
    C(1, uint, Q_TYPE, 0) /* o */            \
    C(2, uint, SPLIT, 256)                   \
    C(3, bool, STATISTICS, false)            \
    C(4, uint, PARTS, 1) /* 2 of a union */
VANTAGE_CONSTANTS(AttentionReduceSplitsConstants, VANTAGE_NO_CONSTANTS, ATTENTION_REDUCE_SPLITS_CONSTANTS)

#define ATTENTION_WEIGHTS_CONSTANTS(C)                                                                               \
    C(1, uint, Q_TYPE, 0)                                                                                            \
    C(2, uint, K_TYPE, 0)                                                                                            \
    C(3, uint, STEP, 1)     /* elements of a head that are read at once: lib/steps.glsl */                           \
    C(21, uint, FEATURE, 0) /* 0: none, a softmax; 1: elu(x) + 1; 2: x itself; 3: q has the scores of all m keys; */ \
    /* 4: hard, lse is the key's number */
// With the rules: what all kernels declare that include lib/tapped_weight.glsl.
#define TAP_CONSTANTS(C) ATTENTION_RULE_CONSTANTS(C) ATTENTION_WEIGHTS_CONSTANTS(C)
VANTAGE_CONSTANTS(AttentionWeightsConstants, ATTENTION_RULE_CONSTANTS, ATTENTION_WEIGHTS_CONSTANTS)
#endif
