#include "params/types.h"
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

#define ELEMENTWISE_CONSTANTS(C)     \
    C(1, uint, A_TYPE, 0) /* a, y */ \
    C(2, uint, B_TYPE, 0)            \
    C(3, uint, UNROLL, 1) /* fours of an invocation */
VANTAGE_CONSTANTS(ElementwiseConstants, VANTAGE_NO_CONSTANTS, ELEMENTWISE_CONSTANTS)

#define ELEMENTWISE_CPU_SIMD_CONSTANTS(C) \
    C(1, uint, B_TYPE, 0)                 \
    C(2, uint, UNROLL, 16) /* UNROLL * LANES divides count and chunk */
VANTAGE_CONSTANTS(ElementwiseCpuSimdConstants, VANTAGE_NO_CONSTANTS, ELEMENTWISE_CPU_SIMD_CONSTANTS)
