#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct WriteParams {
    uvec2 state, x, step;  // (sequences * state_rows, cols), (rows, cols), steps or 0
    uint rows, cols, state_rows;
    uint rows_each;  // rows / sequences
    uint by_lane;    // the state has a part for each lane of the run, not for each sequence
};
VANTAGE_PARAMS_END

#define WRITE_CONSTANTS(C)    \
    C(1, uint, STATE_TYPE, 0) \
    C(2, uint, X_TYPE, 0)     \
    C(3, uint, STEP, 1) /* 4 where cols % 4 == 0 */
VANTAGE_CONSTANTS(WriteConstants, VANTAGE_NO_CONSTANTS, WRITE_CONSTANTS)
