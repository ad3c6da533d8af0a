#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct ColumnsParams {
    uvec2 x, y;  // (rows, cols), (count / width, width)
    uint count, cols, first, width;
};
VANTAGE_PARAMS_END

#define COLUMNS_CONSTANTS(C) C(1, uint, X_TYPE, 0) /* x, y */ C(2, uint, STEP, 1)
VANTAGE_CONSTANTS(ColumnsConstants, VANTAGE_NO_CONSTANTS, COLUMNS_CONSTANTS)
