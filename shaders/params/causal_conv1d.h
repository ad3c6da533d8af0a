#include "params/types.h"
#ifndef VANTAGE_CAUSAL_CONV1D_H
#define VANTAGE_CAUSAL_CONV1D_H
VANTAGE_PARAMS_BEGIN
struct CausalConv1dParams {
    uvec2 x, weight, bias, y;  // (lanes * n, channels), (channels, WIDTH), (channels)
    uvec2 state, new_state;    // rows of (WIDTH - 1, channels); with a step both the table of lib/kept_states.glsl
    uvec2 step;
    uint n, lanes, channels, chunks, kept;
    uint kind;  // params/activation.h
};
struct CausalConv1dBackwardParams {
    uvec2 du, x, weight;  // (lanes * n, channels) twice, (channels, WIDTH)
    uvec2 state, dlast;   // (lanes, WIDTH - 1, channels) f32 or 0 twice: in front, and the gradient of what is left
    uvec2 dx, dweight, dstate;  // dweight (lanes * chunks, channels, WIDTH) f32; dstate only with a state
    uint n, lanes, channels, chunks;
};
VANTAGE_PARAMS_END

#define CAUSAL_CONV1D_CONSTANTS(C)   \
    C(1, uint, X_TYPE, 0) /* x, y */ \
    C(2, uint, WEIGHT_TYPE, 0)       \
    C(3, uint, BIAS_TYPE, 0)         \
    C(4, uint, WIDTH, 4)             \
    C(5, uint, CHUNK, 32) /* rows of a chunk; WIDTH at least */
VANTAGE_CONSTANTS(CausalConv1dConstants, VANTAGE_NO_CONSTANTS, CAUSAL_CONV1D_CONSTANTS)

#define CAUSAL_CONV1D_BACKWARD_CONSTANTS(C) \
    C(1, uint, DU_TYPE, 0)                  \
    C(2, uint, X_TYPE, 0) /* x, dx */       \
    C(3, uint, WEIGHT_TYPE, 0)              \
    C(4, uint, WIDTH, 4)                    \
    C(5, uint, CHUNK, 32)
VANTAGE_CONSTANTS(CausalConv1dBackwardConstants, VANTAGE_NO_CONSTANTS, CAUSAL_CONV1D_BACKWARD_CONSTANTS)
#endif
