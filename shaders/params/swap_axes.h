#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SwapAxesParams {
    uvec2 x, y;               // (outer, m, n, width) -> (outer, n, m, width)
    uint count, m, n, width;  // count = all elements
};
VANTAGE_PARAMS_END
