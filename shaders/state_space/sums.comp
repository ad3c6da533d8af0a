// state_space, first of three: what the rows of each chunk make of a state of zeros, and the sum of their step sizes,
// whose exp(A ·) is what is left of an earlier state.
//
// One invocation per channel of a chunk; the lanes of a workgroup take channels, and each runs over the chunk's rows
// once for every BLOCK of states, which are registers.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "params/state_space.h"
STATE_SPACE_CONSTANTS(VANTAGE_CONSTANT)
layout(push_constant) uniform Push { StateSpaceParams p; };
#include "lib/state_space.glsl"
const uint BLOCK = 16u / PARTS;

void main() {
    uint groups = (p.channels + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x, part = workgroup_index() / groups;
    uint channel = workgroup_index() % groups * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint lane = part / p.chunks, chunk = part % p.chunks;
    if (lane >= p.lanes || channel >= p.channels) return;
    uint begin = chunk * CHUNK, end = min(begin + CHUNK, valid_rows(step_of(p.step, lane), p.n));
    uvec2 sums = sums_of(p.sums, lane, chunk);
    float total = 0.0;
    for (uint r = begin; r < end; ++r) total += step_size(p.delta, lane * p.n + r, channel);
    Floats(sums).at[step_sum_of(channel)] = total;
    for (uint first = 0u; first < STATES; first += BLOCK) {
        NUMBER h[BLOCK], a[BLOCK];
        for (uint j = 0u; j < BLOCK; ++j) {
            h[j] = NUMBER(0.0);
            a[j] = first + j < STATES ? rate(number(p.a, A_TYPE, channel * STATES + first + j)) : NUMBER(0.0);
        }
        for (uint r = begin; r < end; ++r) {
            uint row = lane * p.n + r;
            float delta = step_size(p.delta, row, channel), input_step = delta * load(p.x, X_TYPE, row * p.channels + channel);
            uint at = (BY_TOKEN ? row : channel) * STATES + first;
            for (uint j = 0u; j < BLOCK; ++j)
                if (first + j < STATES)
                    h[j] = product(exponential(a[j] * delta), h[j]) + number(p.b, B_TYPE, at + j) * input_step;
        }
        for (uint j = 0u; j < BLOCK; ++j)
            if (first + j < STATES) put(sums, channel * STATES + first + j, h[j]);
    }
}
