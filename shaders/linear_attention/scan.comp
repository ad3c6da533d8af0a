// linear_attention, second of three: the sums of a chunk become those of all chunks before it, or, without a causal
// mask, those of the first one the total. The total is the state, too.
//
// One invocation per cell of a head's state; it runs over the chunks, of which there are n / 64.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/storage.glsl"
#include "params/linear_attention.h"
layout(push_constant) uniform Push { LinearAttentionScanParams p; };

void main() {
    uint i = invocation_index();
    if (i >= p.cells) return;
    uint per_head = p.d * (p.dv + 1u), head = i / per_head, cell = i % per_head;
    float total = 0.0;
    for (uint chunk = 0u; chunk < p.chunks; ++chunk) {
        uint place = (head * p.chunks + chunk) * per_head + cell;
        float sum = uintBitsToFloat(Words(p.sums).at[place]);
        Words(p.sums).at[place] = floatBitsToUint(total);
        total += sum;
    }
    if (p.causal == 0u) Words(p.sums).at[head * p.chunks * per_head + cell] = floatBitsToUint(total);
    uint d = cell / (p.dv + 1u), e = cell % (p.dv + 1u);
    if (e < p.dv)
        Floats(p.state_kv).at[(head * p.d + d) * p.dv + e] = total;
    else
        Floats(p.state_k).at[head * p.d + d] = total;
}
