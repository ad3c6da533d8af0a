#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct RowBeforeParams {
    uvec2 state, initial, step, y;  // (sequences * state_rows, cols), (sequences, cols) f32 or 0, steps, (lanes, cols)
    uint lanes, cols, state_rows;
};
VANTAGE_PARAMS_END

#define ROW_BEFORE_CONSTANTS(C) C(1, uint, STATE_TYPE, 0)
VANTAGE_CONSTANTS(RowBeforeConstants, VANTAGE_NO_CONSTANTS, ROW_BEFORE_CONSTANTS)
