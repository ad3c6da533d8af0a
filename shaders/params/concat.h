#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct ConcatParams {
    uvec2 a, b, y;                 // blocks of a and of b, in turn in y
    uint count, a_block, b_block;  // elements of y, and of a block
};
VANTAGE_PARAMS_END

#define CONCAT_CONSTANTS(C)          \
    C(1, uint, A_TYPE, 0)            \
    C(2, uint, B_TYPE, 0) /* b, y */ \
    C(3, uint, STEP, 1)   /* 4 where blocks are a multiple of 4 long */
VANTAGE_CONSTANTS(ConcatConstants, VANTAGE_NO_CONSTANTS, CONCAT_CONSTANTS)
