#include "params/types.h"
#ifndef VANTAGE_CROSS_ENTROPY_H
#define VANTAGE_CROSS_ENTROPY_H
VANTAGE_PARAMS_BEGIN
struct CrossEntropyParams {
    uvec2 logits, targets;  // (rows, cols), (first_target + rows or more) i32
    uvec2 loss, lse;        // (rows) f32; backward: read, loss is the gradient of each row's loss
    uvec2 dlogits;          // (rows, cols), backward only
    uint rows, cols;
    float smoothing, z_loss;
    uint first_target;  // the first row's
};
VANTAGE_PARAMS_END

#define CROSS_ENTROPY_CONSTANTS(C) C(1, uint, X_TYPE, 0) /* logits, dlogits */
VANTAGE_CONSTANTS(CrossEntropyConstants, VANTAGE_NO_CONSTANTS, CROSS_ENTROPY_CONSTANTS)
#endif
