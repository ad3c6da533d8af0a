// recurrent, all rows of a sequence: one workgroup per sequence, with its state in shared memory.
//
// Units are shared out to teams, and a unit's products to the members of its team: a subgroup, which reads neighbouring
// weights, or without subgroups one invocation. A barrier ends each row.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#ifdef USE_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/recurrent.glsl"
RECURRENT_SCAN_CONSTANTS(VANTAGE_CONSTANT)
shared float hs[2u * UNITS];  // of this row and of the next
shared float cs[UNITS];       // of LSTMs; only the first member of a unit's team touches its own

void main() {
    uint sequence = workgroup_index(), lane = gl_LocalInvocationID.x;
    if (sequence >= p.sequences) return;
#ifdef USE_SUBGROUP
    uint team = gl_SubgroupID, teams = gl_NumSubgroups;
    uint members = subgroupAdd(1u), member = subgroupExclusiveAdd(1u);
#else
    uint team = lane, teams = gl_WorkGroupSize.x, members = 1u, member = 0u;
#endif
    for (uint unit = lane; unit < UNITS; unit += gl_WorkGroupSize.x) hs[unit] = first_of(p.h0, sequence, unit);
    if (CELL == CELL_LSTM && member == 0u)
        for (uint unit = team; unit < UNITS; unit += teams) cs[unit] = first_of(p.c0, sequence, unit);
    barrier();
    uint valid = valid_of(sequence);
    for (uint i = 0u; i < valid; ++i) {
        uint row = sequence * p.rows + (p.reverse != 0u ? valid - 1u - i : i), now = i % 2u * UNITS, then = UNITS - now;
        for (uint unit = team; unit < UNITS; unit += teams) {
            vec4 products = vec4(0.0);
            for (uint k = member * STEP; k < UNITS; k += members * STEP) {
                vec4 state = vec4(hs[now + k], 0.0, 0.0, 0.0);
                if (STEP == 4u) state.yzw = vec3(hs[now + k + 1u], hs[now + k + 2u], hs[now + k + 3u]);
                [[unroll]] for (uint gate = 0u; gate < GATES; ++gate) products[gate] += dot(load_weights(gate, unit, k), state);
            }
#ifdef USE_SUBGROUP
            products = subgroupAdd(products);
#endif
            if (member == 0u) {
                vec2 state = next_state(row, unit, products, hs[now + unit], CELL == CELL_LSTM ? cs[unit] : 0.0);
                hs[then + unit] = state.x;
                if (CELL == CELL_LSTM) cs[unit] = state.y;
                put_state(row, unit, state);
            }
        }
        barrier();
    }
    for (uint i = valid * UNITS + lane; i < p.rows * UNITS; i += gl_WorkGroupSize.x)
        put_state(sequence * p.rows + i / UNITS, i % UNITS, vec2(0.0));
}
