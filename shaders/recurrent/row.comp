// recurrent, one row of each sequence: a dispatch for each row, because workgroups cannot wait for one another.
//
// One workgroup per unit and sequence: its lanes share out the products of the unit's weights with the state of the row
// before. Neighbouring lanes read neighbouring weights.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/recurrent.glsl"
const uint ROWS = 1u, COLS = 4u;  // of a row all gates
#include "lib/workgroup_reduce_sums.glsl"

void main() {
    uint sequence = workgroup_index() / p.units, unit = workgroup_index() % p.units;
    if (sequence >= p.sequences) return;
    uint valid = valid_of(sequence), own = p.reverse != 0u ? p.rows - 1u - p.turn : p.turn, row = sequence * p.rows + own;
    if (own >= valid) {
        if (gl_LocalInvocationID.x == 0u) put_state(row, unit, vec2(0.0));
        return;
    }
    bool first = p.reverse != 0u ? own + 1u == valid : own == 0u;
    uint before = p.reverse != 0u ? row + 1u : row - 1u;
    uvec2 h = first ? row_address(p.h0, F32, sequence, p.units) : row_address(p.h, F32, before, p.units);
    float sums[ROWS][COLS] = {{0.0, 0.0, 0.0, 0.0}};
    if (!first || present(p.h0))
        for (uint k = gl_LocalInvocationID.x * STEP; k < p.units; k += gl_WorkGroupSize.x * STEP) {
            vec4 state = load_step(h, F32, k);
            [[unroll]] for (uint gate = 0u; gate < GATES; ++gate) sums[0][gate] += dot(load_weights(gate, unit, k), state);
        }
    workgroup_reduce_sums(sums);
    if (gl_LocalInvocationID.x != 0u) return;
    float own_h = first ? first_of(p.h0, sequence, unit) : ReadFloats(h).at[unit], own_c = 0.0;
    if (CELL == CELL_LSTM)
        own_c = first ? first_of(p.c0, sequence, unit) : ReadFloats(row_address(p.c, F32, before, p.units)).at[unit];
    put_state(row, unit, next_state(row, unit, vec4(totals[0], totals[1], totals[2], totals[3]), own_h, own_c));
}
