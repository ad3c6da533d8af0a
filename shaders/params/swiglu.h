#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SwigluParams {
    uvec2 gate, up, y;  // (count); or gate (rows, 2 cols) and no up
    uint count, cols;   // of y
    uint kind;          // the gate's activation, params/activation.h
    uint interleaved;   // 1: gate and up interleaved, 0: [gate | up]
    float limit;        // of gate and of |up|; 0 = none
    float up_offset;
};
VANTAGE_PARAMS_END

#define SWIGLU_CONSTANTS(C)                 \
    C(1, uint, X_TYPE, 0) /* gate, up, y */ \
    C(2, uint, STEP, 4)   /* 1 for packed rows that do not end on a step, or are interleaved */
VANTAGE_CONSTANTS(SwigluConstants, VANTAGE_NO_CONSTANTS, SWIGLU_CONSTANTS)
