#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct ScatterRowsParams {
    uvec2 x, ids;  // (count, width), (count) i32
    uvec2 y;       // (rows, width) f32
    uint count, rows, width;
    uint first, ids_below;  // if not 0, row i goes to row first + i, if its id is below
    float scale;
};
VANTAGE_PARAMS_END

#define SCATTER_ROWS_CONSTANTS(C) \
    C(1, uint, X_TYPE, 0)         \
    C(2, uint, STEP, 1) /* 4 where width % 4 == 0 */
VANTAGE_CONSTANTS(ScatterRowsConstants, VANTAGE_NO_CONSTANTS, SCATTER_ROWS_CONSTANTS)
