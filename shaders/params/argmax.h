#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct ArgmaxParams {
    uvec2 x, y;  // (rows, cols), (rows) i32
    uint rows, cols;
};
VANTAGE_PARAMS_END
