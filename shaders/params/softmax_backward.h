#include "params/types.h"
#define BACKWARD_SOFTMAX 0
#define BACKWARD_LOG_SOFTMAX 1
#define BACKWARD_SPARSEMAX 2
VANTAGE_PARAMS_BEGIN
struct SoftmaxBackwardParams {
    uvec2 dy, y, dx;  // (outer, count, inner): softmax over the middle; rows = outer * inner
    uint rows, count, inner;
    uint kind;
    float scale;
};
VANTAGE_PARAMS_END

#define SOFTMAX_BACKWARD_CONSTANTS(C)   \
    C(1, uint, DY_TYPE, 0) /* dy, dx */ \
    C(2, uint, Y_TYPE, 0)
VANTAGE_CONSTANTS(SoftmaxBackwardConstants, VANTAGE_NO_CONSTANTS, SOFTMAX_BACKWARD_CONSTANTS)
