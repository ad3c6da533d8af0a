#include "params/types.h"
#ifndef VANTAGE_ELEMENTWISE_H
#define VANTAGE_ELEMENTWISE_H
#define ELEMENTWISE_ADD 0
#define ELEMENTWISE_MUL 1
#define ELEMENTWISE_SCALE 2
VANTAGE_PARAMS_BEGIN
struct ElementwiseParams {
    uvec2 a, b, y;        // (count), (b_count), (count); b is 0 for scale
    uint count, b_count;  // element i meets element i mod b_count
    uint kind;
    float factor;  // scale only
    uint chunk;    // elements of a workgroup, elementwise_cpu_simd.comp only
};
VANTAGE_PARAMS_END
#endif
