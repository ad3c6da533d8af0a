#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct AdditiveScoresParams {
    uvec2 q, k, w;  // (batch, n, width), (batch, m, width), (width)
    uvec2 s;        // (batch, n, m) f32
    uint batch, n, m, width;
};
VANTAGE_PARAMS_END

#define ADDITIVE_SCORES_CONSTANTS(C) \
    C(1, uint, X_TYPE, 0) /* q, k */ \
    C(2, uint, W_TYPE, 0)
VANTAGE_CONSTANTS(AdditiveScoresConstants, VANTAGE_NO_CONSTANTS, ADDITIVE_SCORES_CONSTANTS)
