#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct LayerNormParams {
    uvec2 x, gamma, beta, residual;  // (rows, cols); gamma, beta (cols) and residual (rows, cols) may be 0
    uvec2 y, mean, rstd, sum;        // (rows, cols), (rows), (rows), (rows, cols) = x + residual, 0 without one
    uint rows, cols;
    float eps;
};
VANTAGE_PARAMS_END

#define LAYER_NORM_CONSTANTS(C)                       \
    C(1, uint, X_TYPE, 0) /* x, residual, y, sum */   \
    C(2, uint, GAMMA_TYPE, 0)                         \
    C(3, uint, BETA_TYPE, 0)                          \
    C(4, uint, STEP, 1)   /* 4 where cols % 4 == 0 */ \
    C(5, uint, UNROLL, 1) /* steps of a loop's round */
VANTAGE_CONSTANTS(LayerNormConstants, VANTAGE_NO_CONSTANTS, LAYER_NORM_CONSTANTS)

#define LAYER_NORM_CPU_SIMD_CONSTANTS(C) \
    C(1, uint, GAMMA_TYPE, 0)            \
    C(2, uint, BETA_TYPE, 0)             \
    C(3, uint, UNROLL, 8) /* UNROLL * LANES divides cols */
VANTAGE_CONSTANTS(LayerNormCpuSimdConstants, VANTAGE_NO_CONSTANTS, LAYER_NORM_CPU_SIMD_CONSTANTS)
