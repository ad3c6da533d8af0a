#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SwigluParams {
    uvec2 gate, up, y;  // (count); or gate (rows, 2 cols) and no up
    uint count, cols;   // of y
    uint kind;          // the gate's activation, params/activation.h
};
VANTAGE_PARAMS_END
