#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct DequantizeParams {
    uvec2 x, step, y;  // (sequences * rows_each, cols), steps or 0, (lanes * rows_each, cols)
    uint rows, cols, rows_each;
};
VANTAGE_PARAMS_END

#define DEQUANTIZE_CONSTANTS(C) \
    C(1, uint, X_TYPE, 3)       \
    C(2, uint, Y_TYPE, 1)
VANTAGE_CONSTANTS(DequantizeConstants, VANTAGE_NO_CONSTANTS, DEQUANTIZE_CONSTANTS)
