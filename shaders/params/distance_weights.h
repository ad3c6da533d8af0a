#include "params/attention.h"
#ifndef VANTAGE_DISTANCE_WEIGHTS_H
#define VANTAGE_DISTANCE_WEIGHTS_H
VANTAGE_PARAMS_BEGIN
struct DistanceWeightsParams {
    uvec2 q, k, lse;                                  // (n, heads, D), (m, kv_heads, D), (n, heads)
    uvec2 mask, position_bias, block_mask, segments;  // as in AttentionParams
    uvec2 w;                                          // (n, heads, 2 reach + 1)
    uint n, m, heads, kv_heads, d, causal;
    uint reach;
    float scale;
};
VANTAGE_PARAMS_END
#endif
