#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct RmsNormParams {
    uvec2 x, weight, residual;  // (rows, cols); weight (cols) and residual (rows, cols) may be 0
    uvec2 y, rstd, sum;         // (rows, cols), (rows), (rows, cols) = x + residual, 0 without one
    uint rows, cols;
    float eps, weight_offset;
};
VANTAGE_PARAMS_END

#define RMS_NORM_CONSTANTS(C)                         \
    C(1, uint, X_TYPE, 0) /* x, residual, y, sum */   \
    C(2, uint, WEIGHT_TYPE, 0)                        \
    C(3, uint, STEP, 1)   /* 4 where cols % 4 == 0 */ \
    C(4, uint, UNROLL, 1) /* steps of a loop's round */
VANTAGE_CONSTANTS(RmsNormConstants, VANTAGE_NO_CONSTANTS, RMS_NORM_CONSTANTS)

#define RMS_NORM_CPU_SIMD_CONSTANTS(C) \
    C(1, uint, WEIGHT_TYPE, 0)         \
    C(2, uint, UNROLL, 8) /* UNROLL * LANES divides cols */
VANTAGE_CONSTANTS(RmsNormCpuSimdConstants, VANTAGE_NO_CONSTANTS, RMS_NORM_CPU_SIMD_CONSTANTS)
