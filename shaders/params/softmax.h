#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SoftmaxParams {
    uvec2 x, y;  // (outer, count, inner): softmax over the middle; rows = outer * inner
    uint rows, count, inner;
    uint logarithm;  // 1 = log_softmax
    float scale;
};
VANTAGE_PARAMS_END
