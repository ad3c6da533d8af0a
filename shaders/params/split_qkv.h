#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SplitQkvParams {
    uvec2 x, q, k, v;                   // x (rows, (heads + 2 kv_heads) width)
    uint count, rows_per_batch, width;  // count = all elements of x
    uint heads, kv_heads;
    uint per_head;     // 0: x's rows are [q | k | v] of all heads; 1: [kv head][its query heads | k | v]
    uint heads_first;  // 1: results are (batch, head, row, width), else (batch, row, head, width)
};
VANTAGE_PARAMS_END
