#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct RepetitionPenaltyParams {
    uvec2 x, seen, y;  // (count / cols, cols), (ceil(cols / 32)) bits, as x
    uint count, cols;
    float penalty;
};
VANTAGE_PARAMS_END

#define REPETITION_PENALTY_CONSTANTS(C) \
    C(1, uint, X_TYPE, 0) /* x, y */    \
    C(2, uint, STEP, 1)   /* 4 where cols % 4 == 0 */
VANTAGE_CONSTANTS(RepetitionPenaltyConstants, VANTAGE_NO_CONSTANTS, REPETITION_PENALTY_CONSTANTS)
