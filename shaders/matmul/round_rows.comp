// First step of matmul by packed bytes: rows a [m, k] rounded to 8 bits, a = d q + e with q in -127 … 127, d = max |a|
// / 127 of a block of 32 elements along k and |e| <= d / 2. Bytes of all rows, then the scales d of all blocks, f32.
//
// One invocation per block. A block with an infinity or a NaN gets the scale NaN; one below 2^-120 becomes zeros, whose
// scale is no matter.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/matmul.glsl"

void main() {
    uint block = invocation_index();
    if (block >= p.m * (p.k / QUANT_BLOCK)) return;
    vec4 x[8];
    uvec4 maxima = uvec4(0u);  // magnitudes: their bits are in the order of the numbers, and NaN is the largest
    [[unroll]] for (uint i = 0u; i < 8u; ++i) {
        x[i] = load4(p.a, A_TYPE, block * QUANT_BLOCK + 4u * i);
        maxima = max(maxima, floatBitsToUint(x[i]) & 0x7fffffffu);
    }
    uint largest = max(max(maxima.x, maxima.y), max(maxima.z, maxima.w));
    bool finite = largest < 0x7f800000u;
    float d = uintBitsToFloat(finite ? largest : 0x7fc00000u) / 127.0;
    float inverse = finite && largest >= 0x03800000u ? 127.0 / uintBitsToFloat(largest) : 0.0;
    uint words[8];
    [[unroll]] for (uint i = 0u; i < 8u; ++i) {
        uvec4 q = uvec4(ivec4(roundEven(x[i] * inverse))) & 0xffu;
        words[i] = q.x | q.y << 8 | q.z << 16 | q.w << 24;
    }
    [[unroll]] for (uint i = 0u; i < 4u; ++i) Pairs(p.c).at[block * 4u + i] = uvec2(words[2u * i], words[2u * i + 1u]);
    Floats(advance(p.c, p.m * p.k)).at[block] = d;
}
