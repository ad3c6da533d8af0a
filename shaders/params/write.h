#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct WriteParams {
    uvec2 state, x, step;  // (sequences * state_rows, cols), (rows, cols), steps or 0
    uint rows, cols, state_rows;
    uint rows_each;  // rows / sequences
};
VANTAGE_PARAMS_END
