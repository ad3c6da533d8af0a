// Elements of quantised weights (params/quantized.h has the layout):
//   Q8  x = d q, q in -127 … 127      Q4  x = d (q - 8), q in 0 … 15, element j of a block beside element j + 16 in a byte
// d is the scale of the block of 32, in f16.
#ifndef VANTAGE_QUANTIZED_GLSL
#define VANTAGE_QUANTIZED_GLSL
#include "params/quantized.h"

// In words of 32 bits: where the group of element i begins, and its scales in it.
uint group_words(uint type, uint i) { return i / QUANT_GROUP * ((type == Q8 ? Q8_GROUP_BYTES : Q4_GROUP_BYTES) / 4u); }
float block_scale(uvec2 address, uint type, uint i) {
    uint at = group_words(type, i) + (type == Q8 ? Q8_QUANT_BYTES : Q4_QUANT_BYTES) / 4u + i % QUANT_GROUP / (2u * QUANT_BLOCK);
    uint pair = ReadWords(address).at[at];
    return unpackHalf2x16((i & QUANT_BLOCK) != 0u ? pair >> 16 : pair).x;
}
// Quants i … i + 3, i a multiple of 4, less the 8 of Q4.
vec4 quants4(uvec2 address, uint type, uint i) {
    if (type == Q8) {
        int word = int(ReadWords(address).at[group_words(type, i) + i % QUANT_GROUP / 4u]);
        return vec4(ivec4(bitfieldExtract(word, 0, 8), bitfieldExtract(word, 8, 8), bitfieldExtract(word, 16, 8), word >> 24));
    }
    uint word = ReadWords(address).at[group_words(type, i) + i % QUANT_GROUP / QUANT_BLOCK * 4u + i % 16u / 4u] >> (i % QUANT_BLOCK / 16u * 4u);
    return vec4(uvec4(word, word >> 8, word >> 16, word >> 24) & 15u) - 8.0;
}
#endif
