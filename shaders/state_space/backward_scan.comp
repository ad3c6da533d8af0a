// state_space_backward, fourth of six: the sums of a chunk become the gradient of the state behind it.
//   m' = exp(conj(A) sum delta) m + sum
// It begins with the gradient of the last state, and ends with that of the first.
//
// One invocation per state of a lane; it runs over the chunks, of which there are n / CHUNK.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "params/state_space.h"
STATE_SPACE_CONSTANTS(VANTAGE_CONSTANT)
layout(push_constant) uniform Push { StateSpaceBackwardScanParams p; };
#include "lib/state_space.glsl"

void main() {
    uint per_lane = p.channels * STATES, lane = invocation_index() / per_lane, i = invocation_index() % per_lane;
    if (lane >= p.lanes) return;
    NUMBER a = rate(number(p.a, A_TYPE, i)), m = first_number(p.last, lane, i);
    for (uint chunk = p.chunks; chunk > 0u; --chunk) {
        uvec2 sums = sums_of(p.sums_after, lane, one_before(chunk));
        NUMBER sum = kept_number(sums, i);
        float total = ReadFloats(sums_of(p.sums, lane, one_before(chunk))).at[step_sum_of(i / STATES)];
        put(sums, i, m);
        m = product(conjugate(exponential(a * total)), m) + sum;
    }
    if (present(p.first)) put(state_row(p.first, lane), i, m);
}
