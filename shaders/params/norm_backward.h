#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct NormBackwardParams {
    uvec2 dy, x, gamma, mean, rstd;  // (rows, cols) twice, (cols) or 0, (rows) f32 or 0, (rows) f32
    uvec2 dx;                        // (rows, cols)
    uint rows, cols;
    float offset;  // added to gamma
};
VANTAGE_PARAMS_END

#define NORM_BACKWARD_CONSTANTS(C)      \
    C(1, uint, DY_TYPE, 0) /* dy, dx */ \
    C(2, uint, X_TYPE, 0)               \
    C(3, uint, GAMMA_TYPE, 0)           \
    C(4, uint, STEP, 1) /* 4 where cols % 4 == 0 */
VANTAGE_CONSTANTS(NormBackwardConstants, VANTAGE_NO_CONSTANTS, NORM_BACKWARD_CONSTANTS)
