#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct LastRowParams {
    uvec2 x, step, y;  // (rows, cols), step state, (1, cols)
    uint rows, cols;
};
VANTAGE_PARAMS_END
