#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct BatchNormParams {
    uvec2 x, gamma, beta, mean, variance;  // (batch, channels, extent); (channels), gamma and beta may be 0
    uvec2 y, new_mean, new_variance;       // as x; (channels), 0 where the statistics are given
    uint batch, channels, extent;
    float eps, momentum;
};
VANTAGE_PARAMS_END
