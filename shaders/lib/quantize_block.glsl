// Writes blocks of 32 elements in a quantised type, as runtime/base/ggml_blocks.cpp does: with d = max |x| / 127,
// x = d q + e and |e| <= d / 2 (Q8); with d = -max / 8, max the element of largest magnitude, |e| <= d (Q4). A block with
// an infinity or a NaN gets the scale NaN.
#include "lib/round_bytes.glsl"

// The first of the elements whose magnitude is the largest.
float largest_of(vec4 x[8]) {
    float found = 0.0;
    for (uint i = 0u; i < 8u; ++i)
        for (uint j = 0u; j < 4u; ++j)
            if (abs(x[i][j]) > abs(found)) found = x[i][j];
    return found;
}
uint halves4(vec4 x, float inverse) {
    uvec4 q = uvec4(min(vec4(15.0), x * inverse + 8.5));
    return q.x | q.y << 8 | q.z << 16 | q.w << 24;
}

// Elements i … i + 31; i a multiple of 32. The scale shares a word with that of a neighbour, which another invocation
// may write.
void store_block(uvec2 address, uint type, uint i, vec4 x[8]) {
    uint magnitude = 0u, at = block_at(type, i), shift = (i & QUANT_BLOCK) != 0u ? 16u : 0u;
    for (uint w = 0u; w < 8u; ++w) magnitude = max(magnitude, magnitude4(x[w]));
    float d;
    if (type == Q8) {
        float inverse = byte_inverse(magnitude);
        for (uint w = 0u; w < 8u; ++w) Words(address).at[at + w] = rounded4(x[w], inverse);
        d = byte_scale(magnitude);
    } else {
        d = largest_of(x) / -8.0;
        float inverse = magnitude < 0x7f800000u && abs(d) >= 1.1754944e-38 ? 1.0 / d : 0.0;
        for (uint w = 0u; w < 4u; ++w)
            Words(address).at[at + w] = halves4(x[w], inverse) | halves4(x[w + 4u], inverse) << 4;
    }
    uint scale = narrow_half(d);
    if (magnitude >= 0x7f800000u || (scale & 0x7c00u) == 0x7c00u) scale = 0x7e00u;
    atomicAnd(Words(address).at[scale_word(type, i)], 0xffff0000u >> shift);
    atomicOr(Words(address).at[scale_word(type, i)], scale << shift);
}
