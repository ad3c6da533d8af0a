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
