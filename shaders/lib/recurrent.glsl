// One unit of a recurrent layer, from row to row (params/recurrent.h).
#extension GL_EXT_control_flow_attributes : require
#include "params/recurrent.h"
RECURRENT_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/activation.glsl"
#include "lib/rows.glsl"
#include "lib/steps.glsl"
layout(push_constant) uniform Push { RecurrentParams p; };

const uint GATES = CELL == CELL_LSTM ? 4u : CELL == CELL_GRU ? 3u : 1u;

// STEP weights of a gate of a unit, from k on.
vec4 load_weights(uint gate, uint unit, uint k) { return load_step(p.w, W_TYPE, (gate * p.units + unit) * p.units + k); }
// The numbers of all gates of a unit.
vec4 load_gates(uvec2 address, uint type, uint begin, uint unit) {
    vec4 gates = vec4(0.0);
    [[unroll]] for (uint gate = 0u; gate < GATES; ++gate) gates[gate] = load(address, type, begin + gate * p.units + unit);
    return gates;
}

// (h', c') of a unit from x, W h for all gates, and the unit's h and c.
vec2 next_state(uint row, uint unit, vec4 products, float h, float c) {
    Row from = row_of(p.x, X_TYPE, row, GATES * p.units);
    vec4 x = load_gates(from.address, X_TYPE, from.begin, unit), y = products;
    if (present(p.b)) y += load_gates(p.b, B_TYPE, 0u, unit);
    if (CELL == CELL_RNN) return vec2(stable_tanh(x.x + y.x), 0.0);
    if (CELL == CELL_GRU) {
        float z = sigmoid(x.y + y.y), n = stable_tanh(x.z + sigmoid(x.x + y.x) * y.z);
        return vec2(n + z * (h - n), 0.0);
    }
    vec4 sums = x + y;
    c = sigmoid(sums.y) * c + sigmoid(sums.x) * stable_tanh(sums.z);
    return vec2(sigmoid(sums.w) * stable_tanh(c), c);
}
float first_of(uvec2 state, uint sequence, uint unit) {
    return present(state) ? ReadFloats(state).at[sequence * p.units + unit] : 0.0;
}
void put_state(uint row, uint unit, vec2 state) {
    Floats(row_address(p.h, F32, row, p.units)).at[unit] = state.x;
    if (CELL == CELL_LSTM) Floats(row_address(p.c, F32, row, p.units)).at[unit] = state.y;
}
uint valid_of(uint sequence) {
    uvec2 step = step_of(p.step, sequence);
    return present(p.step) ? min(ReadWords(step).at[STEP_VALID], p.rows) : p.rows;
}
