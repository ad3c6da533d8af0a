#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct PatchesParams {
    uvec2 x, y;  // (batch, channels, height, width), (batch, rows * columns, channels * patch_height * patch_width)
    uint count;  // elements of y
    uint channels, height, width;
    uint patch_height, patch_width, columns;  // columns: patches side by side
};
VANTAGE_PARAMS_END

#define PATCHES_CONSTANTS(C) C(1, uint, X_TYPE, 0) /* x, y */
VANTAGE_CONSTANTS(PatchesConstants, VANTAGE_NO_CONSTANTS, PATCHES_CONSTANTS)
