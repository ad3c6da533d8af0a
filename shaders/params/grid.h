#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct GridParams {
    uvec2 step, grid;  // step state; (3) u32
    uint keys_per_group, y, z;
};
VANTAGE_PARAMS_END
