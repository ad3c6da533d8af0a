#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct LastRowParams {
    uvec2 x, step, y;  // (sequences * rows, cols), steps, (sequences, cols)
    uint rows, cols;
    uint sequences;
};
VANTAGE_PARAMS_END
