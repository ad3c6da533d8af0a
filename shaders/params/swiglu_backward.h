#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SwigluBackwardParams {
    uvec2 gate, up, dy;  // as of swiglu
    uvec2 dgate, dup;    // like gate and up
    uint count, cols;    // of dy
    uint kind;           // the gate's activation, params/activation.h
    uint interleaved;    // 1: gate and up interleaved, 0: [gate | up]
    float limit;         // of gate and of |up|; 0 = none
    float up_offset;
};
VANTAGE_PARAMS_END

#define SWIGLU_BACKWARD_CONSTANTS(C) \
    C(1, uint, X_TYPE, 0)            \
    C(2, uint, STEP, 4) /* 1 for packed rows that do not end on a step, or are interleaved */
VANTAGE_CONSTANTS(SwigluBackwardConstants, VANTAGE_NO_CONSTANTS, SWIGLU_BACKWARD_CONSTANTS)
