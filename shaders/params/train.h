// The state of a training run on the device, f32 [TRAIN_WORDS], and its history, f32 [TRAIN_HISTORY, TRAIN_RECORD].
// Counts are floats, exact to 2^24.
#include "params/types.h"
#ifndef VANTAGE_TRAIN_H
#define VANTAGE_TRAIN_H
#define TRAIN_STEP 0     // steps that are done: data and learning rate go by it
#define TRAIN_UPDATES 1  // of these the ones that changed parameters: bias corrections go by it
#define TRAIN_MICRO 2    // micro-batches of the current step that are done
#define TRAIN_LOSS 3     // sum of their losses
#define TRAIN_SCALE 4    // what losses are multiplied by in front of differentiation
#define TRAIN_GOOD 5     // updates since the scale changed
#define TRAIN_SKIPPED 6  // steps in a row whose gradients were not finite
// Of the current update:
#define TRAIN_RATE 8              // learning rate
#define TRAIN_MEAN_FACTOR 9       // 1 / (1 - beta1^t)
#define TRAIN_VARIANCE_FACTOR 10  // 1 / (1 - beta2^t)
#define TRAIN_GRADIENT_FACTOR 11  // of clipping, and 1 / scale
#define TRAIN_SKIP 12             // 1: parameters stay
#define TRAIN_NORM 13             // of all gradients, before clipping; infinite where they are not finite
#define TRAIN_WORDS 16
#define TRAIN_HISTORY 256
#define TRAIN_RECORD 8  // step, loss, norm, rate, scale, skipped, updates, 0
VANTAGE_PARAMS_BEGIN
struct AccumulateParams {
    uvec2 sum, x, train, result;  // result is sum's memory
    uint count;
};
struct CountLossParams {
    uvec2 train, loss, result;
};
struct FetchParams {
    uvec2 ring, train;  // (entries, count)
    uvec2 result;       // (count)
    uint entries, count, micro_batches;
};
struct BeginUpdateParams {
    uvec2 train, history, squares, rates, corrections;  // (1), (rate_count), (2, correction_count)
    uvec2 new_train, new_history;                       // the memory of train and history
    uint rate_count, correction_count;
    float max_norm, norm_eps;  // max_norm 0: no clipping
    float max_scale;           // of a dynamic loss scale; 0: it stays
    uint growth_interval;      // good updates before the scale is doubled
};
struct AdamParams {
    uvec2 x, mean, variance, gradient, train;
    uvec2 new_x, new_mean, new_variance;  // the memory of x, mean and variance
    uint count;
    float beta1, beta2, eps, decay;
    uint decoupled;  // 1: AdamW
};
struct SgdParams {
    uvec2 x, velocity, gradient, train;
    uvec2 new_x, new_velocity;  // the memory of x and velocity
    uint count;
    float momentum, dampening, decay;
    uint nesterov;
};
struct SumSquaresParams {
    uvec2 x, sums;               // (count), (blocks) f32
    uint count, block, squares;  // squares 0: of elements that are sums already
};
struct SumOfParams {
    uvec2 x[8], sum;  // one number each, or 0
};
struct RecordNormsParams {
    uvec2 norms, x[8], train, new_norms;  // (TRAIN_HISTORY, groups), one number each or 0; new_norms is norms' memory
    uint groups, first;                   // the first of the eight
};
VANTAGE_PARAMS_END
VANTAGE_CONSTANTS(SumSquaresConstants, VANTAGE_NO_CONSTANTS, VANTAGE_NO_CONSTANTS)
#endif
