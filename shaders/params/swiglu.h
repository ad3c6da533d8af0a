#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SwigluParams {
    uvec2 gate, up, y;  // (count)
    uint count;
    uint kind;  // the gate's activation, params/activation.h
};
VANTAGE_PARAMS_END
