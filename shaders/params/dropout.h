#include "params/types.h"
#ifndef VANTAGE_DROPOUT_H
#define VANTAGE_DROPOUT_H
// What kernels draw by that drop elements themselves (lib/dropout.glsl), u32 [DROPOUT_WORDS].
#define DROPOUT_SEED_LOW 0
#define DROPOUT_SEED_HIGH 1
#define DROPOUT_SITE 2
#define DROPOUT_MICRO_BATCH 3  // since the beginning of the run
#define DROPOUT_THRESHOLD 4
#define DROPOUT_FACTOR 5  // the bits of a float
#define DROPOUT_WORDS 8
VANTAGE_PARAMS_BEGIN
struct DropoutParams {
    uvec2 x, words;  // (rows, width), u32 (DROPOUT_WORDS)
    uvec2 y;         // (rows, width)
    uint rows, width;
};
struct DropoutDrawParams {
    uvec2 train, words;        // f32 (TRAIN_WORDS) or 0; u32 (DROPOUT_WORDS)
    uint site, micro_batches;  // which dropout of the graph this is; micro-batches of a step
    uint threshold;            // of 2^32: numbers below it are dropped
    float factor;              // of those that are kept
    uint seed_low, seed_high;
};
VANTAGE_PARAMS_END

#define DROPOUT_CONSTANTS(C) C(1, uint, X_TYPE, 0) /* x, y */
VANTAGE_CONSTANTS(DropoutConstants, VANTAGE_NO_CONSTANTS, DROPOUT_CONSTANTS)
#endif
