#include "params/types.h"
#ifndef VANTAGE_RECURRENT_H
#define VANTAGE_RECURRENT_H
// Cells: h' = tanh(x + W h + b); the LSTM's gates are i, f, g, o, the GRU's r, z, n.
#define CELL_RNN 0
#define CELL_LSTM 1
#define CELL_GRU 2
VANTAGE_PARAMS_BEGIN
struct RecurrentParams {
    uvec2 x, w, b;       // (sequences * rows, gates * units), (gates * units, units), (gates * units) or 0
    uvec2 h0, c0, step;  // (sequences, units) f32 or 0, the same, steps or 0
    uvec2 h, c;          // (sequences * rows, units) f32; c of LSTMs
    uint rows, sequences, units;
    uint reverse;  // from the last valid row to the first
    uint turn;     // of row.comp: how many rows of each sequence are done
};
struct RecurrentBackwardParams {
    uvec2 dh, dc;         // (sequences * rows, units) f32; dc f32 or 0, of LSTMs
    uvec2 x, y, w;        // as in front; y = W h + b of the row before, f32 as x
    uvec2 before, c, c0;  // of GRUs h of the row before; of LSTMs as in front
    uvec2 dx, dy;         // as x, f32; the same tensor but for GRUs
    uvec2 dh0, dc0;       // (sequences, units) f32; of the last launch, dc0 of LSTMs
    uvec2 carry;          // (sequences, units) f32: LSTMs dc, GRUs dh, as far as it does not go through W
    uint rows, sequences, units;
    uint reverse;
    uint turn;  // how many rows of each sequence are done
};
VANTAGE_PARAMS_END

#define RECURRENT_CONSTANTS(C) \
    C(1, uint, X_TYPE, 0)      \
    C(2, uint, W_TYPE, 0)      \
    C(3, uint, B_TYPE, 0)      \
    C(4, uint, CELL, 0)        \
    C(5, uint, STEP, 1) /* 4 where units % 4 == 0 */
VANTAGE_CONSTANTS(RecurrentConstants, VANTAGE_NO_CONSTANTS, RECURRENT_CONSTANTS)

#define RECURRENT_SCAN_CONSTANTS(C) C(6, uint, UNITS, 64)
VANTAGE_CONSTANTS(RecurrentScanConstants, RECURRENT_CONSTANTS, RECURRENT_SCAN_CONSTANTS)

#define RECURRENT_BACKWARD_CONSTANTS(C) \
    C(1, uint, X_TYPE, 0)               \
    C(2, uint, W_TYPE, 0)               \
    C(3, uint, CELL, 0)                 \
    C(4, uint, TILE, 16) /* units of a workgroup; divides its size */
VANTAGE_CONSTANTS(RecurrentBackwardConstants, VANTAGE_NO_CONSTANTS, RECURRENT_BACKWARD_CONSTANTS)
#endif
