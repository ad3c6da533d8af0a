// First step of matmul by packed bytes: rows a [m, k] rounded to 8 bits (lib/round_bytes.glsl). Bytes of all rows, then the
// scales d of all blocks, f32.
//
// One invocation per block.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/matmul.glsl"
#include "lib/round_bytes.glsl"

void main() {
    uint block = invocation_index();
    if (block >= p.m * (p.k / QUANT_BLOCK)) return;
    vec4 x[8];
    uint largest = 0u, words[8];
    [[unroll]] for (uint i = 0u; i < 8u; ++i) {
        x[i] = load4(p.a, A_TYPE, block * QUANT_BLOCK + 4u * i);
        largest = max(largest, magnitude4(x[i]));
    }
    float inverse = byte_inverse(largest);
    [[unroll]] for (uint i = 0u; i < 8u; ++i) words[i] = rounded4(x[i], inverse);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) Pairs(p.c).at[block * 4u + i] = uvec2(words[2u * i], words[2u * i + 1u]);
    Floats(advance(p.c, p.m * p.k)).at[block] = byte_scale(largest);
}
