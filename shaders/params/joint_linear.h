#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct JointLinearParams {
    uvec2 x;                    // (m, k)
    uvec2 w0, w1, w2;           // (n, k) each with an n of its own; w2 absent for two
    uvec2 bias0, bias1, bias2;  // (n) or absent
    uvec2 y0, y1, y2;           // (m, n); y0 alone where the first gates the second
    uint m, k;
    uint n0, n1, n2;
};
VANTAGE_PARAMS_END

#define JOINT_LINEAR_CONSTANTS(C)                           \
    C(1, uint, X_TYPE, 0) /* x, y */                        \
    C(2, uint, W_TYPE, 0)                                   \
    C(3, uint, BIAS_TYPE, 0)                                \
    C(4, uint, GATE, 0)        /* f; none: nothing gates */ \
    C(5, uint, ROWS, 1)        /* 1, 4 or 8 */              \
    C(6, uint, STEP, 1)        /* 4 where k % 4 == 0 */     \
    C(7, uint, COLS, 4)        /* 2, 4 or 8 */              \
    C(8, bool, ALIGNED, false) /* k % QUANT_GROUP == 0 */   \
    C(9, bool, OCTETS, false)  /* weights have 16 bits, k % 8 == 0 */
VANTAGE_CONSTANTS(JointLinearConstants, VANTAGE_NO_CONSTANTS, JOINT_LINEAR_CONSTANTS)
