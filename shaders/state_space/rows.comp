// state_space, third of three, or the only one of a run that is one chunk:
//   h = exp(delta A) h + delta B x,  y = Re(C h) + D x
//
// One invocation per channel of a chunk; the lanes of a workgroup take channels, and each runs over the chunk's rows
// once for every BLOCK of states, which are registers. States to be kept are written on the way. Padding gives 0.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "params/state_space.h"
STATE_SPACE_CONSTANTS(VANTAGE_CONSTANT)
layout(push_constant) uniform Push { StateSpaceParams p; };
#include "lib/state_space.glsl"
const uint BLOCK = 16u / PARTS;
shared float sums_of_row[CHUNK * gl_WorkGroupSize.x];  // of each lane's channel

void main() {
    uint groups = (p.channels + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x, part = workgroup_index() / groups;
    uint channel = workgroup_index() % groups * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint lane = part / p.chunks, chunk = part % p.chunks;
    if (lane >= p.lanes || channel >= p.channels) return;
    uint valid = valid_rows(step_of(p.step, lane), p.n), begin = chunk * CHUNK, last = min(begin + CHUNK, p.n), end = min(last, valid);
    uint first_row = first_state(p.step, lane, p.kept);
    float skip = present(p.d) ? load(p.d, D_TYPE, channel) : 0.0;
    for (uint r = begin; r < last; ++r)
        sums_of_row[(r - begin) * gl_WorkGroupSize.x + gl_LocalInvocationID.x] =
            r < valid ? skip * load(p.x, X_TYPE, (lane * p.n + r) * p.channels + channel) : 0.0;
    for (uint first = 0u; first < STATES; first += BLOCK) {
        NUMBER h[BLOCK], a[BLOCK];
        uint begins = channel * STATES + first;
        for (uint j = 0u; j < BLOCK; ++j) {
            h[j] = a[j] = NUMBER(0.0);
            if (first + j >= STATES) continue;
            a[j] = rate(number(p.a, A_TYPE, begins + j));
            h[j] = SCANNED ? kept_number(sums_of(p.sums, lane, chunk), begins + j) : first_number(p.state, first_row, begins + j);
        }
        for (uint r = begin; r < end; ++r) {
            uint row = lane * p.n + r;
            float delta = step_size(p.delta, row, channel), input_step = delta * load(p.x, X_TYPE, row * p.channels + channel);
            uint at = (BY_TOKEN ? row : channel) * STATES + first;
            float sum = 0.0;
            for (uint j = 0u; j < BLOCK; ++j)
                if (first + j < STATES) {
                    h[j] = product(exponential(a[j] * delta), h[j]) + number(p.b, B_TYPE, at + j) * input_step;
                    sum += real_product(number(p.c, B_TYPE, at + j), h[j]);
                }
            sums_of_row[(r - begin) * gl_WorkGroupSize.x + gl_LocalInvocationID.x] += sum;
            uint kept = state_after(p.step, lane, p.kept, r + 1u, valid);
            if (kept == no_row) continue;
            for (uint j = 0u; j < BLOCK; ++j)
                if (first + j < STATES) put(state_row(p.new_state, kept), begins + j, h[j]);
        }
        if (valid == 0u && !present(p.step))  // no rows: the state stays
            for (uint j = 0u; j < BLOCK; ++j)
                if (first + j < STATES) put(state_row(p.new_state, lane), begins + j, h[j]);
    }
    for (uint r = begin; r < last; ++r)
        store(p.y, X_TYPE, (lane * p.n + r) * p.channels + channel,
              sums_of_row[(r - begin) * gl_WorkGroupSize.x + gl_LocalInvocationID.x]);
}
