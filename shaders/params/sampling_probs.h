#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SamplingProbsParams {
    uvec2 logits, p;  // (rows, cols) f32
    uint rows, cols;
    float temperature;
    uint top_k;
    float top_p, min_p;
};
VANTAGE_PARAMS_END

#define SAMPLING_PROBS_CONSTANTS(C) C(1, uint, X_TYPE, 0)
VANTAGE_CONSTANTS(SamplingProbsConstants, VANTAGE_NO_CONSTANTS, SAMPLING_PROBS_CONSTANTS)
