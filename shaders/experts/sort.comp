// sort_by_expert: choices in the order of their experts, those of one expert in their own order: offsets[e] is where
// expert e's begin, slots[c] the place of choice c among its expert's. What has no expert, or finds its expert full,
// has slot -1 and comes last.
//
// One workgroup; a lane takes an expert and reads all choices: counts, begins, places. The order never changes.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "lib/storage.glsl"
#include "params/experts.h"
layout(push_constant) uniform Push { SortByExpertParams p; };

const uint NONE = 0xffffffffu;
// What one lane writes and another reads.
layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer SharedWords { uint at[]; };

void sync() {
    memoryBarrierBuffer();
    barrier();
}

uint count_of(uint expert) {
    uint count = 0u;
    for (uint c = 0u; c < p.choices; ++c) count += uint(ReadWords(p.index).at[c] == expert);
    return min(count, p.capacity);
}

void place(uint expert) {
    uint rank = 0u, begin = SharedWords(p.offsets).at[expert];
    for (uint c = 0u; c < p.choices; ++c) {
        if (ReadWords(p.index).at[c] != expert) continue;
        SharedWords(p.slots).at[c] = rank < p.capacity ? rank : NONE;
        if (rank < p.capacity) Words(p.order).at[begin + rank] = c;
        ++rank;
    }
}

void main() {
    uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
    for (uint c = lane; c < p.choices; c += lanes) SharedWords(p.slots).at[c] = NONE;
    for (uint e = lane; e < p.experts; e += lanes) SharedWords(p.offsets).at[e] = count_of(e);
    sync();
    if (lane == 0u) {
        uint total = 0u;
        for (uint e = 0u; e < p.experts; ++e) {
            uint count = SharedWords(p.offsets).at[e];
            SharedWords(p.offsets).at[e] = total;
            total += count;
        }
        SharedWords(p.offsets).at[p.experts] = total;
        SharedWords(p.offsets).at[p.experts + 1u] = p.choices;
    }
    sync();
    for (uint e = lane; e < p.experts; e += lanes) place(e);
    sync();
    if (lane > 0u) return;
    uint at = SharedWords(p.offsets).at[p.experts];
    for (uint c = 0u; c < p.choices && at < p.choices; ++c)
        if (SharedWords(p.slots).at[c] == NONE) Words(p.order).at[at++] = c;
}
