#include "params/types.h"
#ifndef VANTAGE_GRID_H
#define VANTAGE_GRID_H
VANTAGE_PARAMS_BEGIN
struct GridParams {
    uvec2 step, grid;  // steps; (3) u32
    uint keys_per_group, y, z;
    uint sequences;
};
VANTAGE_PARAMS_END
#endif
