#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct BatchNormParams {
    uvec2 x, gamma, beta, mean, variance;  // (batch, channels, extent); (channels), gamma and beta may be 0
    uvec2 y, new_mean, new_variance;       // as x; (channels), 0 where the statistics are given
    uint batch, channels, extent;
    float eps, momentum;
};
VANTAGE_PARAMS_END

#define BATCH_NORM_CONSTANTS(C)             \
    C(1, uint, X_TYPE, 0) /* x, y */        \
    C(2, uint, W_TYPE, 0) /* gamma, beta */ \
    C(3, bool, TRAINING, false)
VANTAGE_CONSTANTS(BatchNormConstants, VANTAGE_NO_CONSTANTS, BATCH_NORM_CONSTANTS)
