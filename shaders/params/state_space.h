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
#endif
