#include "params/types.h"
#ifndef VANTAGE_STATE_SPACE_H
#define VANTAGE_STATE_SPACE_H
VANTAGE_PARAMS_BEGIN
// A number is one float, or two if complex. `sums`: for each chunk of each lane the state that its rows make of zeros
// (channels, states), then the sum of its step sizes (channels).
struct StateSpaceParams {
    uvec2 x, delta, a, b, c, d, y;  // (lanes * n, channels) twice, (channels, states) and so on, see ops.h
    uvec2 state, new_state;         // rows of (channels, states); with a step both the table of lib/kept_states.glsl
    uvec2 sums, step;
    uint n, lanes, channels, chunks, kept;
};
// Results are sums: da of each chunk (lanes * chunks, channels, states), and so db and dc, or with BY_TOKEN of each
// GROUP of channels (groups, lanes * n, states).
struct StateSpaceBackwardParams {
    uvec2 x, delta, a, b, c, d, dy;  // as in front
    uvec2 sums, sums_after;          // as in front; by the gradients of the states behind a chunk
    uvec2 dx, ddelta, da, db, dc;    // dx as x; ddelta (lanes * n, channels) f32
    uint n, lanes, channels, chunks;
};
struct StateSpaceBackwardScanParams {
    uvec2 a, sums, sums_after, last, first;  // (lanes, channels, states): gradients of the states behind and in front
    uint lanes, channels, chunks;
};
VANTAGE_PARAMS_END

#define STATE_SPACE_CONSTANTS(C)                                                \
    C(1, uint, X_TYPE, 0) /* x, y */                                            \
    C(2, uint, DELTA_TYPE, 0)                                                   \
    C(3, uint, A_TYPE, 0)                                                       \
    C(4, uint, B_TYPE, 0) /* b, c */                                            \
    C(5, uint, D_TYPE, 0)                                                       \
    C(6, uint, STATES, 16)       /* of a channel */                             \
    C(7, uint, CHUNK, 32)        /* rows of a chunk */                          \
    C(8, bool, BY_TOKEN, true)   /* delta, b and c have a row for each token */ \
    C(9, bool, LOGARITHM, false) /* a is ln(-A) */                              \
    C(10, bool, SOFTPLUS, false) /* of delta */                                 \
    C(11, bool, SCANNED, false)  /* chunks begin with what the scan left in `sums` */
VANTAGE_CONSTANTS(StateSpaceConstants, VANTAGE_NO_CONSTANTS, STATE_SPACE_CONSTANTS)

#define STATE_SPACE_BACKWARD_CONSTANTS(C) C(12, uint, GROUP, 32) /* channels that an invocation sums */
VANTAGE_CONSTANTS(StateSpaceBackwardConstants, STATE_SPACE_CONSTANTS, STATE_SPACE_BACKWARD_CONSTANTS)
#endif
