#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SparsemaxParams {
    uvec2 x, y;  // (rows, cols)
    uint rows, cols;
};
VANTAGE_PARAMS_END

#define SPARSEMAX_CONSTANTS(C) C(1, uint, X_TYPE, 0) /* x, y */
VANTAGE_CONSTANTS(SparsemaxConstants, VANTAGE_NO_CONSTANTS, SPARSEMAX_CONSTANTS)
