#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SoftmaxParams {
    uvec2 x, y;  // (outer, count, inner): softmax over the middle; rows = outer * inner
    uint rows, count, inner;
    uint logarithm;  // 1 = log_softmax
    float scale;
};
VANTAGE_PARAMS_END

#define SOFTMAX_CONSTANTS(C)                                          \
    C(1, uint, X_TYPE, 0) /* x, y */                                  \
    C(2, uint, STEP, 1)   /* 4 where inner == 1 and count % 4 == 0 */ \
    C(3, uint, UNROLL, 1) /* steps of a loop's round */
VANTAGE_CONSTANTS(SoftmaxConstants, VANTAGE_NO_CONSTANTS, SOFTMAX_CONSTANTS)

#define SOFTMAX_CPU_SIMD_CONSTANTS(C) \
    C(1, bool, LOGARITHM, false)      \
    C(2, uint, UNROLL, 8) /* UNROLL * LANES divides count */
VANTAGE_CONSTANTS(SoftmaxCpuSimdConstants, VANTAGE_NO_CONSTANTS, SOFTMAX_CPU_SIMD_CONSTANTS)
