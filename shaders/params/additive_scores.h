#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct AdditiveScoresParams {
    uvec2 q, k, w;  // (batch, n, width), (batch, m, width), (width)
    uvec2 s;        // (batch, n, m) f32
    uint batch, n, m, width;
};
VANTAGE_PARAMS_END
