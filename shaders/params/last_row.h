#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct LastRowParams {
    uvec2 x, step, y;  // (sequences * rows, cols), steps, (sequences, cols)
    uint rows, cols;
    uint sequences;
};
VANTAGE_PARAMS_END

#define LAST_ROW_CONSTANTS(C)        \
    C(1, uint, X_TYPE, 0) /* x, y */ \
    C(2, uint, STEP, 1)   /* 4 where cols % 4 == 0 */
VANTAGE_CONSTANTS(LastRowConstants, VANTAGE_NO_CONSTANTS, LAST_ROW_CONSTANTS)
