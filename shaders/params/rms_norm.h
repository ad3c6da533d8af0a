#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct RmsNormParams {
    uvec2 x, weight, residual;  // (rows, cols); weight (cols) and residual (rows, cols) may be 0
    uvec2 y, rstd, sum;         // (rows, cols), (rows), (rows, cols) = x + residual, 0 without one
    uint rows, cols;
    float eps, weight_offset;
};
VANTAGE_PARAMS_END
