#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SwapAxesParams {
    uvec2 x, y;               // (outer, m, n, width) -> (outer, n, m, width)
    uint count, m, n, width;  // count = all elements
};
VANTAGE_PARAMS_END

#define SWAP_AXES_CONSTANTS(C)       \
    C(1, uint, X_TYPE, 0) /* x, y */ \
    C(2, uint, STEP, 1)   /* 4 where width % 4 == 0 */
VANTAGE_CONSTANTS(SwapAxesConstants, VANTAGE_NO_CONSTANTS, SWAP_AXES_CONSTANTS)
