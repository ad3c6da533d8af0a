// row_before: y = state[position - 1] of each lane's sequence, where position is that of the run's first row; the
// initial row of the sequence where position is 0, or zeros. One element per invocation.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/row_before.h"
ROW_BEFORE_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/cache.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { RowBeforeParams p; };

void main() {
    uint i = invocation_index();
    if (p.cols == 0u || i / p.cols >= p.lanes) return;
    uint lane = i / p.cols, col = i % p.cols, sequence = sequence_of(p.step, lane);
    uint position = ReadWords(step_of(p.step, lane)).at[STEP_POSITION];
    float value = 0.0;
    if (position > 0u && position <= p.state_rows) {
        Row from = row_of(p.state, STATE_TYPE, cache_row(sequence, p.state_rows, position - 1u), p.cols);
        value = load(from.address, STATE_TYPE, from.begin + col);
    } else if (position == 0u && present(p.initial)) {
        value = ReadFloats(p.initial).at[sequence * p.cols + col];
    }
    Floats(p.y).at[i] = value;
}
