#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct AdditiveScoresParams {
    uvec2 q, k, w;  // (batch, n, width), (batch, m, width), (width)
    uvec2 s;        // (batch, n, m) f32
    uint batch, n, m, width;
};
struct AdditiveBackwardParams {
    uvec2 ds, q, k, w;  // (batch, n, m) f32, and as in front
    uvec2 dq, dk, dw;   // (batch, n, width), (batch, m, width), (batch n, width), all f32
    uint batch, n, m, width;
};
VANTAGE_PARAMS_END

#define ADDITIVE_SCORES_CONSTANTS(C) \
    C(1, uint, X_TYPE, 0) /* q, k */ \
    C(2, uint, W_TYPE, 0)
VANTAGE_CONSTANTS(AdditiveScoresConstants, VANTAGE_NO_CONSTANTS, ADDITIVE_SCORES_CONSTANTS)

#define ADDITIVE_BACKWARD_CONSTANTS(C) \
    C(1, uint, X_TYPE, 0) /* q, k */   \
    C(2, uint, W_TYPE, 0)              \
    C(3, uint, KEYS, 0) /* 0: dq and dw, 1: dk */
VANTAGE_CONSTANTS(AdditiveBackwardConstants, VANTAGE_NO_CONSTANTS, ADDITIVE_BACKWARD_CONSTANTS)
