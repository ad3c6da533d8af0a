#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct ArgmaxParams {
    uvec2 x, y;  // (rows, cols), (rows) i32
    uint rows, cols;
};
VANTAGE_PARAMS_END

#define ARGMAX_CONSTANTS(C) C(1, uint, X_TYPE, 0)
VANTAGE_CONSTANTS(ArgmaxConstants, VANTAGE_NO_CONSTANTS, ARGMAX_CONSTANTS)
