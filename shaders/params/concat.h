#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct ConcatParams {
    uvec2 a, b, y;        // (a_count), (count - a_count), (count)
    uint count, a_count;  // elements
};
VANTAGE_PARAMS_END

#define CONCAT_CONSTANTS(C)          \
    C(1, uint, A_TYPE, 0)            \
    C(2, uint, B_TYPE, 0) /* b, y */ \
    C(3, uint, STEP, 1)   /* 4 where rows are a multiple of 4 long */
VANTAGE_CONSTANTS(ConcatConstants, VANTAGE_NO_CONSTANTS, CONCAT_CONSTANTS)
