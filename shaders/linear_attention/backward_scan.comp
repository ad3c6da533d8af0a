// linear_attention_backward: the sums of a chunk become those of all chunks before it, and those of gradients become
// those of all chunks after it, which begin with the gradient of the last state. Without a causal mask those of the
// first chunk become the total.
//
// One invocation per cell of a head's sums, of one kind or the other; it runs over the chunks.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/storage.glsl"
#include "params/linear_attention.h"
layout(push_constant) uniform Push { LinearAttentionBackwardScanParams p; };

float state_gradient(uint head, uint cell) {
    uint d = head * p.d + cell / (p.dv + 1u), e = cell % (p.dv + 1u);
    if (e < p.dv) return present(p.dstate_kv) ? ReadFloats(p.dstate_kv).at[d * p.dv + e] : 0.0;
    return present(p.dstate_k) ? ReadFloats(p.dstate_k).at[d] : 0.0;
}

void main() {
    uint i = invocation_index() % max(p.cells, 1u);
    bool after = invocation_index() >= p.cells;
    if (invocation_index() >= 2u * p.cells) return;
    uint per_head = p.d * (p.dv + 1u), head = i / per_head, cell = i % per_head, first = head * p.chunks;
    uvec2 sums = after ? p.sums_after : p.sums;
    float total = after ? state_gradient(head, cell) : 0.0;
    for (uint turn = 0u; turn < p.chunks; ++turn) {
        uint place = (first + (after ? p.chunks - 1u - turn : turn)) * per_head + cell;
        float sum = uintBitsToFloat(Words(sums).at[place]);
        Words(sums).at[place] = floatBitsToUint(total);
        total += sum;
    }
    if (p.causal == 0u) Words(sums).at[first * per_head + cell] = floatBitsToUint(total);
}
