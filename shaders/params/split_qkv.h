#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SplitQkvParams {
    uvec2 x, q, k, v;                   // x (rows, (heads + 2 kv_heads) width); k and v may be caches
    uvec2 step;                         // steps or 0
    uint count, rows_per_batch, width;  // count = all elements of x
    uint heads, kv_heads;
    uint per_head;     // 0: x's rows are [q | k | v] of all heads; 1: [kv head][its query heads | k | v]
    uint heads_first;  // 1: results are (batch, head, row, width), else (batch, row, head, width)
    uint cache_rows;   // of a sequence; 0: k and v are no caches
    uint rows_each;    // rows / sequences
};
VANTAGE_PARAMS_END

#define SPLIT_QKV_CONSTANTS(C)                          \
    C(1, uint, X_TYPE, 0)  /* x, q */                   \
    C(2, uint, STEP, 1)    /* 4 where width % 4 == 0 */ \
    C(3, uint, KV_TYPE, 0) /* k, v */
VANTAGE_CONSTANTS(SplitQkvConstants, VANTAGE_NO_CONSTANTS, SPLIT_QKV_CONSTANTS)
