// state_space_backward, third of six: what the rows of each chunk pass on to the state in front of them,
//   m = conj(E_t) (conj(C_t) dy_t + m) from the last row to the first, E = exp(delta A),
// where nothing comes from behind the chunk.
//
// One invocation per channel of a chunk; the lanes of a workgroup take channels, and each runs over the chunk's rows
// once for every BLOCK of states, which are registers.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "params/state_space.h"
STATE_SPACE_CONSTANTS(VANTAGE_CONSTANT)
layout(push_constant) uniform Push { StateSpaceBackwardParams p; };
#include "lib/state_space.glsl"
const uint BLOCK = 16u / PARTS;

void main() {
    uint groups = (p.channels + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x, part = workgroup_index() / groups;
    uint channel = workgroup_index() % groups * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint lane = part / p.chunks, chunk = part % p.chunks, begin = chunk * CHUNK, end = min(begin + CHUNK, p.n);
    if (lane >= p.lanes || channel >= p.channels) return;
    uvec2 sums = sums_of(p.sums_after, lane, chunk);
    for (uint first = 0u; first < STATES; first += BLOCK) {
        NUMBER m[BLOCK], a[BLOCK];
        for (uint j = 0u; j < BLOCK; ++j) {
            m[j] = NUMBER(0.0);
            a[j] = first + j < STATES ? rate(number(p.a, A_TYPE, channel * STATES + first + j)) : NUMBER(0.0);
        }
        for (uint r = end; r > begin; --r) {
            uint row = lane * p.n + one_before(r), at = (BY_TOKEN ? row : channel) * STATES + first;
            float delta = step_size(p.delta, row, channel), dy = load(p.dy, X_TYPE, row * p.channels + channel);
            for (uint j = 0u; j < BLOCK; ++j) {
                if (first + j >= STATES) continue;
                NUMBER l = conjugate(number(p.c, B_TYPE, at + j)) * dy + m[j];
                m[j] = product(conjugate(exponential(a[j] * delta)), l);
            }
        }
        for (uint j = 0u; j < BLOCK; ++j)
            if (first + j < STATES) put(sums, channel * STATES + first + j, m[j]);
    }
}
