#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct EntropyParams {
    uvec2 p, h;  // (rows, cols), (rows) f32
    uint rows, cols;
};
struct EntropyBackwardParams {
    uvec2 dh, p, dp;  // (rows) f32, (rows, cols) twice
    uint count, cols;
};
VANTAGE_PARAMS_END

#define ENTROPY_CONSTANTS(C) C(1, uint, X_TYPE, 0)
VANTAGE_CONSTANTS(EntropyConstants, VANTAGE_NO_CONSTANTS, ENTROPY_CONSTANTS)
