#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct LayerNormParams {
    uvec2 x, gamma, beta, residual;  // (rows, cols); gamma, beta (cols) and residual (rows, cols) may be 0
    uvec2 y, mean, rstd, sum;        // (rows, cols), (rows), (rows), (rows, cols) = x + residual, 0 without one
    uint rows, cols;
    float eps;
};
VANTAGE_PARAMS_END
