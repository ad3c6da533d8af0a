#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct JointLinearParams {
    uvec2 x;                    // (m, k)
    uvec2 w0, w1, w2;           // (n, k) each with an n of its own; w2 absent for two
    uvec2 bias0, bias1, bias2;  // (n) or absent
    uvec2 y0, y1, y2;           // (m, n); y0 alone where the first gates the second; with HEAD y1, y2 are caches
    uvec2 table, step;          // HEAD: (table_rows, ROTARY) f32; the steps of m sequences
    uint m, k;
    uint n0, n1, n2;
    uint table_rows, cache_rows;  // HEAD: positions; of a sequence
};
VANTAGE_PARAMS_END

#define JOINT_LINEAR_CONSTANTS(C)                                                                \
    C(1, uint, X_TYPE, 0) /* x, y */                                                             \
    C(2, uint, W_TYPE, 0)                                                                        \
    C(3, uint, BIAS_TYPE, 0)                                                                     \
    C(4, uint, GATE, 0)        /* f; none: nothing gates */                                      \
    C(5, uint, ROWS, 1)        /* 1, 4 or 8 */                                                   \
    C(6, uint, STEP, 1)        /* 4 where k % 4 == 0 */                                          \
    C(7, uint, COLS, 4)        /* 2, 4 or 8 */                                                   \
    C(8, bool, ALIGNED, false) /* rows of weights begin with a group */                          \
    C(9, bool, OCTETS, false)  /* weights have 16 bits, k % 8 == 0 */                            \
    C(10, uint, HEAD, 0)       /* features of a head, of queries, keys and values; 0: of none */ \
    C(11, uint, ROTARY, 0)     /* of these turn so many, a multiple of 8 as HEAD is */           \
    C(12, bool, INTERLEAVED, false)                                                              \
    C(13, uint, CACHE_TYPE, 0)
VANTAGE_CONSTANTS(JointLinearConstants, VANTAGE_NO_CONSTANTS, JOINT_LINEAR_CONSTANTS)
