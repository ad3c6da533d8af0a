#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct ColumnSumsParams {
    uvec2 x, y, mean, rstd;  // (rows, cols); y (rows, cols), mean and rstd (rows) f32 may be 0
    uvec2 sums;              // (blocks, cols) f32
    uint rows, cols, block;  // rows of a block
};
VANTAGE_PARAMS_END

#define COLUMN_SUMS_CONSTANTS(C) \
    C(1, uint, X_TYPE, 0)        \
    C(2, uint, Y_TYPE, 0)
VANTAGE_CONSTANTS(ColumnSumsConstants, VANTAGE_NO_CONSTANTS, COLUMN_SUMS_CONSTANTS)
