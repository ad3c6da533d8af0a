#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct DropoutParams {
    uvec2 x, train;  // (rows, width), f32 (TRAIN_WORDS) or 0
    uvec2 y;         // (rows, width)
    uint rows, width;
    uint site, micro_batches;  // which dropout of the graph this is; micro-batches of a step
    uint threshold;            // of 2^32: numbers below it are dropped
    float factor;              // of those that are kept
    uint seed_low, seed_high;
};
VANTAGE_PARAMS_END

#define DROPOUT_CONSTANTS(C) C(1, uint, X_TYPE, 0) /* x, y */
VANTAGE_CONSTANTS(DropoutConstants, VANTAGE_NO_CONSTANTS, DROPOUT_CONSTANTS)
