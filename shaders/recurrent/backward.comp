// recurrent_backward, one row of each sequence: a dispatch for each row, from the last that the layer made to the
// first, and one for the state before. With dx the gradients by the gates and dy those by W h + b (but for a GRU's n
// the same) the row before has
//   dh_k = its own gradient + sum over gates of W_gk dy_g (+ dh z of a GRU),  and of an LSTM dc = dc f
//
// A workgroup has TILE units of a sequence. The lanes of a unit share out the gates of the sum, so that neighbouring
// lanes read neighbouring weights; the first of them goes on with the unit.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 128, local_size_x_id = 0) in;
#include "params/recurrent.h"
RECURRENT_BACKWARD_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/activation.glsl"
#include "lib/index.glsl"
#include "lib/rows.glsl"
layout(push_constant) uniform Push { RecurrentBackwardParams p; };
const uint GATES = CELL == CELL_LSTM ? 4u : CELL == CELL_GRU ? 3u : 1u;
shared float sums[gl_WorkGroupSize.x];

// Of a tensor (rows, units) in f32, 0 where it is absent.
float of_unit(uvec2 address, uint row, uint unit) {
    return present(address) ? ReadFloats(row_address(address, F32, row, p.units)).at[unit] : 0.0;
}
vec4 of_gates(uvec2 address, uint type, uint row, uint unit) {
    Row begin = row_of(address, type, row, GATES * p.units);
    vec4 gates = vec4(0.0);
    [[unroll]] for (uint gate = 0u; gate < GATES; ++gate)
        gates[gate] = load(begin.address, type, begin.begin + gate * p.units + unit);
    return gates;
}
void put_gates(uvec2 address, uint row, uint unit, vec4 gates) {
    uvec2 begin = row_address(address, F32, row, GATES * p.units);
    [[unroll]] for (uint gate = 0u; gate < GATES; ++gate) Floats(begin).at[gate * p.units + unit] = gates[gate];
}

// dx and dy of a unit, from x, y and dh; what a GRU or an LSTM carries to the row before.
float carried_of_gru(vec4 x, vec4 y, float dh, float before, out vec4 dx, out vec4 dy) {
    float r = sigmoid(x.x + y.x), z = sigmoid(x.y + y.y), n = stable_tanh(x.z + r * y.z);
    float dn = dh * (1.0 - z) * (1.0 - n * n);
    dx = vec4(dn * y.z * r * (1.0 - r), dh * (before - n) * z * (1.0 - z), dn, 0.0);
    dy = vec4(dx.xy, dn * r, 0.0);
    return dh * z;
}
float carried_of_lstm(vec4 x, float dh, float dc, float c, float before, out vec4 dx) {  // x: with y
    float i = sigmoid(x.x), f = sigmoid(x.y), g = stable_tanh(x.z), o = sigmoid(x.w), bent = stable_tanh(c);
    dc += dh * o * (1.0 - bent * bent);
    dx = vec4(dc * g * i * (1.0 - i), dc * before * f * (1.0 - f), dc * i * (1.0 - g * g), dh * bent * o * (1.0 - o));
    return dc * f;
}

void main() {
    uint tiles = (p.units + TILE - 1u) / TILE, sequence = workgroup_index() / tiles, lane = gl_LocalInvocationID.x;
    uint unit = workgroup_index() % tiles * TILE + lane % TILE, share = lane / TILE, shares = gl_WorkGroupSize.x / TILE;
    if (sequence >= p.sequences) return;
    bool backwards = p.reverse == 0u;  // the layer went forwards
    uint row = sequence * p.rows + (backwards ? p.rows - 1u - p.turn : p.turn), done = backwards ? row + 1u : row - 1u;
    float sum = 0.0;
    if (p.turn > 0u && unit < p.units) {
        uvec2 dy = row_address(p.dy, F32, done, GATES * p.units);
        for (uint gate = share; gate < GATES * p.units; gate += shares)
            sum += load(p.w, W_TYPE, gate * p.units + unit) * ReadFloats(dy).at[gate];
    }
    sums[lane] = sum;
    barrier();
    if (share > 0u || unit >= p.units) return;
    float dh = 0.0, carried = 0.0;
    for (uint i = 0u; i < shares; ++i) dh += sums[i * TILE + lane];
    uint at = sequence * p.units + unit;
    if (p.turn > 0u && CELL != CELL_RNN) carried = uintBitsToFloat(Words(p.carry).at[at]);
    if (CELL == CELL_GRU) dh += carried;
    if (p.turn == p.rows) {
        Floats(p.dh0).at[at] = dh;
        if (CELL == CELL_LSTM) Floats(p.dc0).at[at] = carried;
        return;
    }
    dh += of_unit(p.dh, row, unit);
    vec4 x = of_gates(p.x, X_TYPE, row, unit), y = of_gates(p.y, F32, row, unit), dx = vec4(0.0);
    if (CELL == CELL_RNN) {
        float h = stable_tanh(x.x + y.x);
        dx.x = dh * (1.0 - h * h);
    } else if (CELL == CELL_GRU) {
        vec4 dy;
        carried = carried_of_gru(x, y, dh, of_unit(p.before, row, unit), dx, dy);
        put_gates(p.dy, row, unit, dy);
    } else {
        bool is_first = p.turn + 1u == p.rows;
        float before = is_first ? of_unit(p.c0, sequence, unit) : of_unit(p.c, backwards ? row - 1u : row + 1u, unit);
        carried = carried_of_lstm(x + y, dh, carried + of_unit(p.dc, row, unit), of_unit(p.c, row, unit), before, dx);
    }
    put_gates(p.dx, row, unit, dx);
    if (CELL != CELL_RNN) Words(p.carry).at[at] = floatBitsToUint(carried);
}
