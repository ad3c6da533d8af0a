#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct GridParams {
    uvec2 step, grid;  // steps; (3) u32
    uint keys_per_group, y, z;
    uint sequences;
};
VANTAGE_PARAMS_END
