// causal_conv1d: y_t = act(bias + sum_k w_k x_{t - WIDTH + 1 + k}), each channel by itself.
//
// One invocation per channel of a chunk of rows; the lanes of a workgroup take channels. The last WIDTH inputs are
// registers that move on from row to row. The first chunk's invocation alone reads and writes its channel's states, so
// that none is written over before it is read. Padding gives 0.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/causal_conv1d.h"
CAUSAL_CONV1D_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/activation.glsl"
#include "lib/index.glsl"
#include "lib/kept_states.glsl"
layout(push_constant) uniform Push { CausalConv1dParams p; };

uvec2 state_row(uvec2 table, uint row) { return row_address(table, F32, row, (WIDTH - 1u) * p.channels); }

void main() {
    uint groups = (p.channels + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x, part = workgroup_index() / groups;
    uint channel = workgroup_index() % groups * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint lane = part / p.chunks, chunk = part % p.chunks;
    if (lane >= p.lanes || channel >= p.channels) return;
    uint valid = valid_rows(step_of(p.step, lane), p.n), begin = chunk * CHUNK, end = min(begin + CHUNK, p.n);
    uint first = lane * p.n * p.channels + channel;  // element of the lane's row 0
    float before[WIDTH], window[WIDTH], weights[WIDTH];  // before: in front of row 0, then nothing
    uint row = chunk == 0u ? first_state(p.step, lane, p.kept) : no_row;
    bool known = row != no_row && present(p.state);
    for (uint k = 0u; k < WIDTH; ++k) {
        weights[k] = load(p.weight, WEIGHT_TYPE, channel * WIDTH + k);
        before[k] = known && k + 1u < WIDTH ? uintBitsToFloat(Words(state_row(p.state, row)).at[k * p.channels + channel]) : 0.0;
        window[k] = chunk == 0u || k + 1u == WIDTH ? before[k] : load(p.x, X_TYPE, first + (begin + k + 1u - WIDTH) * p.channels);
    }
    float bias = present(p.bias) ? load(p.bias, BIAS_TYPE, channel) : 0.0;
    for (uint r = begin; r < end; ++r) {
        window[WIDTH - 1u] = load(p.x, X_TYPE, first + r * p.channels);
        float sum = bias;
        for (uint k = 0u; k < WIDTH; ++k) sum += weights[k] * window[k];
        store(p.y, X_TYPE, first + r * p.channels, r < valid ? activate(p.kind, sum) : 0.0);
        for (uint k = 0u; k + 1u < WIDTH; ++k) window[k] = window[k + 1u];
    }
    if (chunk != 0u) return;
    for (uint done = present(p.step) ? 1u : valid; done <= valid; ++done) {
        uint kept = state_after(p.step, lane, p.kept, done, valid);
        if (kept == no_row) continue;
        for (uint k = 0u; k + 1u < WIDTH; ++k) {  // rows done - WIDTH + 1 … done - 1
            uint place = done + k;                // counted from the first of `before`
            float value = 0.0;
            if (place + 1u >= WIDTH)
                value = load(p.x, X_TYPE, first + (place + 1u - WIDTH) * p.channels);
            else  // by constant indices: an index that varies would keep the array in memory
                for (uint b = 0u; b < WIDTH; ++b) value = b == place ? before[b] : value;
            Words(state_row(p.new_state, kept)).at[k * p.channels + channel] = floatBitsToUint(value);
        }
    }
}
