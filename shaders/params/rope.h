#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct RopeParams {
    uvec2 x, table, step;           // rows of `dim`; (table_rows, rotary) f32; steps or 0
    uvec2 y;                        // as x, or the cache (sequences * cache_rows, heads, dim)
    uvec2 positions;                // (tokens) i32 or 0; rope_write has no such operand: 0
    uvec2 q, q_out, v, v_state;     // JOINT: the queries as x, with q_heads; the values as x, and their cache as y
    uint rows, tokens, heads, dim;  // rows = batch * tokens * heads; with JOINT * (q_heads + 2 heads)
    uint rotary, table_rows, heads_first, interleaved;
    uint q_heads;
    uint cache_rows;  // of a sequence; 0: y is no cache
    uint sequences;   // steps
    uint inverse;     // 1: by the angles backwards, as gradients turn
};
VANTAGE_PARAMS_END

#define ROPE_CONSTANTS(C)                                               \
    C(1, uint, X_TYPE, 0)                                               \
    C(2, uint, Y_TYPE, 0)                                               \
    C(3, uint, STEP, 1)  /* 4 where dim % 4 == 0 and rotary % 8 == 0 */ \
    C(4, uint, JOINT, 0) /* 1: x are keys, and queries and values come with them */
VANTAGE_CONSTANTS(RopeConstants, VANTAGE_NO_CONSTANTS, ROPE_CONSTANTS)
