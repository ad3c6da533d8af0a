#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct CausalConv1dParams {
    uvec2 x, weight, bias, y;  // (lanes * n, channels), (channels, WIDTH), (channels)
    uvec2 state, new_state;    // rows of (WIDTH - 1, channels); with a step both the table of lib/kept_states.glsl
    uvec2 step;
    uint n, lanes, channels, chunks, kept;
    uint kind;  // params/activation.h
};
VANTAGE_PARAMS_END

#define CAUSAL_CONV1D_CONSTANTS(C)   \
    C(1, uint, X_TYPE, 0) /* x, y */ \
    C(2, uint, WEIGHT_TYPE, 0)       \
    C(3, uint, BIAS_TYPE, 0)         \
    C(4, uint, WIDTH, 4)             \
    C(5, uint, CHUNK, 32) /* rows of a chunk; WIDTH at least */
VANTAGE_CONSTANTS(CausalConv1dConstants, VANTAGE_NO_CONSTANTS, CAUSAL_CONV1D_CONSTANTS)
