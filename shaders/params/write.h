#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct WriteParams {
    uvec2 state, x, step;  // (state_rows, cols), (rows, cols), step state
    uint rows, cols, state_rows;
};
VANTAGE_PARAMS_END
