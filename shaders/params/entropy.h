#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct EntropyParams {
    uvec2 p, h;  // (rows, cols), (rows) f32
    uint rows, cols;
};
VANTAGE_PARAMS_END
