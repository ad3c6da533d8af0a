#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct PatchesParams {
    uvec2 x, y;  // (batch, channels, height, width), (batch, rows * columns, channels * edge * edge)
    uint count;  // elements of y
    uint channels, height, width;
    uint edge, columns;  // of a patch; patches side by side
};
VANTAGE_PARAMS_END
