// state_space, second of three: the sums of a chunk become the state that it begins with.
//   h' = exp(A sum delta) h + sum
//
// One invocation per state of a lane; it runs over the chunks, of which there are n / CHUNK.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "params/state_space.h"
STATE_SPACE_CONSTANTS(VANTAGE_CONSTANT)
layout(push_constant) uniform Push { StateSpaceParams p; };
#include "lib/state_space.glsl"

void main() {
    uint per_lane = p.channels * STATES, lane = invocation_index() / per_lane, i = invocation_index() % per_lane;
    if (lane >= p.lanes) return;
    NUMBER a = rate(number(p.a, A_TYPE, i)), h = first_number(p.state, first_state(p.step, lane, p.kept), i);
    for (uint chunk = 0u; chunk < p.chunks; ++chunk) {
        uvec2 sums = sums_of(p.sums, lane, chunk);
        NUMBER sum = kept_number(sums, i);
        float total = uintBitsToFloat(Words(sums).at[step_sum_of(i / STATES)]);
        put(sums, i, h);
        h = product(exponential(a * total), h) + sum;
    }
}
