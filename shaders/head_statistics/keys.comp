// What each key of a head receives from the rows: the sum of its column, and by how many queries it is seen; all of
// them, and those for which it is far. One invocation per key of a head, which goes down its column: no float is added
// atomically, so the sums have one order.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/head_weights.glsl"

void main() {
    uint at = invocation_index();
    if (at >= p.keys * p.heads) return;
    uint head = at / p.keys, key = at % p.keys, end = p.first_row + p.rows;
    uint begin = p.causal != 0u && key >= PREFIX ? max(p.first_row, key) : p.first_row;  // those before do not see it
    vec4 numbers = vec4(0.0);  // no array: some compilers keep those in memory
    for (uint row = begin; row < end; ++row) {
        TappedWeight weight = weight_of(head, row, key);
        if (!weight.seen) continue;
        numbers[KEY_RECEIVED] += weight.value;
        numbers[KEY_SEEN] += 1.0;
        if (!is_far(row, key)) continue;
        numbers[KEY_FAR_RECEIVED] += weight.value;
        numbers[KEY_FAR_SEEN] += 1.0;
    }
    [[unroll]] for (uint i = 0u; i < KEY_NUMBERS; ++i) Floats(p.result).at[i * p.keys * p.heads + at] = numbers[i];
}
