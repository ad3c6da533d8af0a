// causal_conv1d_backward: the gradients of u_t = bias + sum_k w_k x_{t - WIDTH + 1 + k}, from du.
//   dx_s = sum_k w_k du_{s + WIDTH - 1 - k},  dweight_k = sum_t du_t x_{t - WIDTH + 1 + k}
// Rows s < 0 are the state. The last WIDTH - 1 inputs are a result, too, whose gradient is dlast.
//
// One invocation per channel of a chunk of rows; the lanes of a workgroup take channels. The next WIDTH gradients and
// the last WIDTH inputs are registers that move on from row to row. dweight has a sum for each chunk. The first chunk's
// invocation also makes the gradient of the state.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/causal_conv1d.h"
CAUSAL_CONV1D_BACKWARD_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { CausalConv1dBackwardParams p; };
const uint BEFORE = WIDTH - 1u;  // rows of a state

// Element of a lane's row of a state.
uint state_at(uint lane, uint row, uint channel) { return (lane * BEFORE + row) * p.channels + channel; }
// What row `r` of a lane, counted from the first of its state, passes on as one of the last inputs.
float last_gradient(uint lane, uint r, uint channel) {
    return present(p.dlast) && r >= p.n ? ReadFloats(p.dlast).at[state_at(lane, r - p.n, channel)] : 0.0;
}

void main() {
    uint groups = (p.channels + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x, part = workgroup_index() / groups;
    uint channel = workgroup_index() % groups * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint lane = part / p.chunks, chunk = part % p.chunks, begin = chunk * CHUNK, end = min(begin + CHUNK, p.n);
    if (lane >= p.lanes || channel >= p.channels) return;
    uint first = lane * p.n * p.channels + channel;  // element of the lane's row 0
    float weights[WIDTH], sums[WIDTH], inputs[WIDTH], ahead[WIDTH];
    for (uint k = 0u; k < WIDTH; ++k) {
        weights[k] = load(p.weight, WEIGHT_TYPE, channel * WIDTH + k);
        sums[k] = 0.0;
        uint r = begin + k;  // counted from the first row of the state
        inputs[k] = ahead[k] = 0.0;
        if (k < BEFORE && r >= BEFORE)
            inputs[k] = load(p.x, X_TYPE, first + (r - BEFORE) * p.channels);
        else if (k < BEFORE && present(p.state))
            inputs[k] = ReadFloats(p.state).at[state_at(lane, r, channel)];
        if (k < BEFORE && r < p.n) ahead[k] = load(p.du, DU_TYPE, first + r * p.channels);
    }
    if (chunk == 0u && present(p.dstate))
        for (uint row = 0u; row < BEFORE; ++row) {
            float sum = last_gradient(lane, row, channel);
            for (uint k = 0u; k <= row; ++k) {
                float du = row - k < p.n ? load(p.du, DU_TYPE, first + (row - k) * p.channels) : 0.0;
                sum += weights[k] * du;
            }
            Floats(p.dstate).at[state_at(lane, row, channel)] = sum;
        }
    for (uint r = begin; r < end; ++r) {
        inputs[BEFORE] = load(p.x, X_TYPE, first + r * p.channels);
        ahead[BEFORE] = r + BEFORE < p.n ? load(p.du, DU_TYPE, first + (r + BEFORE) * p.channels) : 0.0;
        float sum = last_gradient(lane, r + BEFORE, channel);
        for (uint k = 0u; k < WIDTH; ++k) {
            sum += weights[k] * ahead[BEFORE - k];
            sums[k] += ahead[0] * inputs[k];
        }
        store(p.dx, X_TYPE, first + r * p.channels, sum);
        for (uint k = 0u; k < BEFORE; ++k) {
            inputs[k] = inputs[k + 1u];
            ahead[k] = ahead[k + 1u];
        }
    }
    for (uint k = 0u; k < WIDTH; ++k) Floats(p.dweight).at[(part * p.channels + channel) * WIDTH + k] = sums[k];
}
