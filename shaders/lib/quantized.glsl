// Elements of quantised weights (params/quantized.h has the layout):
//   Q8  x = d q, q in -127 … 127      Q4  x = d (q - 8), q in 0 … 15, elements j and j + 16 of a block share a byte
// d is the scale of the block of 32, in f16.
//
// An integer becomes a float without a conversion, which is slow on some devices: its bits are put into the mantissa of
// a power of two, where bit b counts 1 if the power is 2^(23-b), and the power is taken away again. Exact: both are
// below 2^24.
#ifndef VANTAGE_QUANTIZED_GLSL
#define VANTAGE_QUANTIZED_GLSL
#include "params/quantized.h"

bool is_quantized(uint type) { return type == Q8 || type == Q4; }

// In words of 32 bits: where the group of element i begins, and where its block's quants do.
uint group_at(uint type, uint i) { return i / QUANT_GROUP * ((type == Q8 ? Q8_GROUP_BYTES : Q4_GROUP_BYTES) / 4u); }
uint block_at(uint type, uint i) { return group_at(type, i) + i % QUANT_GROUP / QUANT_BLOCK * (type == Q8 ? 8u : 4u); }

// In bytes: where the block that begins at element i does. Groups have the bytes of their quants and 16 of scales.
uint block_byte(uint type, uint i) { return (type == Q8 ? i : i / 2u) + i / QUANT_GROUP * (2u * QUANT_GROUP / QUANT_BLOCK); }

// In words: where the scales of element i's block and its neighbour are, block by block in pairs.
uint scale_word(uint type, uint i) {
    return group_at(type, i) + (type == Q8 ? Q8_QUANT_BYTES : Q4_QUANT_BYTES) / 4u + i % QUANT_GROUP / (2u * QUANT_BLOCK);
}
uint scale_byte(uint type, uint i) { return 4u * scale_word(type, i); }

// Of element i's block, from the word of its pair of blocks.
float scale_of_pair(uint pair, uint i) { return unpackHalf2x16((i & QUANT_BLOCK) != 0u ? pair >> 16 : pair).x; }
float block_scale(uvec2 address, uint type, uint i) {
    return scale_of_pair(ReadWords(address).at[scale_word(type, i)], i);
}

// The 4 bytes of a word, signed.
vec4 quants_of_bytes(uint word) {
    word ^= 0x80808080u;  // byte + 128
    uint high = word >> 16;
    return vec4(uintBitsToFloat((word & 0xffu) | 0x4b000000u) - 8388736.0,  // 2^23 + 128
                uintBitsToFloat((word & 0xff00u) | 0x47000000u) - 32896.0,  // 2^15 + 128
                uintBitsToFloat((high & 0xffu) | 0x4b000000u) - 8388736.0,
                uintBitsToFloat((high & 0xff00u) | 0x47000000u) - 32896.0);
}
// The low halves of the 4 bytes of a word, less 8; and the high halves.
vec4 quants_of_low_halves(uint word) {
    return vec4(uintBitsToFloat((word & 0xfu) | 0x4b000000u) - 8388616.0,     // 2^23 + 8
                uintBitsToFloat((word & 0xf00u) | 0x47000000u) - 32776.0,     // 2^15 + 8
                uintBitsToFloat((word & 0xf0000u) | 0x43000000u) - 136.0,     // 2^7 + 8
                uintBitsToFloat((word >> 16 & 0xf00u) | 0x47000000u) - 32776.0);
}
vec4 quants_of_high_halves(uint word) {
    return vec4(uintBitsToFloat((word & 0xf0u) | 0x49000000u) - 524296.0,     // 2^19 + 8
                uintBitsToFloat((word & 0xf000u) | 0x45000000u) - 2056.0,     // 2^11 + 8
                uintBitsToFloat((word >> 16 & 0xf0u) | 0x49000000u) - 524296.0,
                uintBitsToFloat((word >> 16 & 0xf000u) | 0x45000000u) - 2056.0);
}

// The quants i … i + 3 of the word that holds them, i a multiple of 4.
vec4 quants_of_word(uint type, uint word, uint i) {
    if (type == Q8) return quants_of_bytes(word);
    return quants_of_low_halves((i & (QUANT_BLOCK / 2u)) != 0u ? word >> 4 : word);
}
// Quants 4 quad … 4 quad + 3 of the block that begins at element i.
vec4 quants_of_block(uvec2 address, uint type, uint i, uint quad) {
    if (type == Q8) return quants_of_bytes(ReadWords(address).at[block_at(type, i) + quad]);
    return quants_of_low_halves(ReadWords(address).at[block_at(type, i) + quad % 4u] >> quad / 4u * 4u);
}
// Elements i … i + 3, i a multiple of 4.
vec4 load_quantized4(uvec2 address, uint type, uint i) {
    return block_scale(address, type, i) * quants_of_block(address, type, i - i % QUANT_BLOCK, i % QUANT_BLOCK / 4u);
}

// Element i.
float load_quantized(uvec2 address, uint type, uint i) {
    uint at = i % QUANT_BLOCK;
    int quant;
    if (type == Q8) {
        quant = bitfieldExtract(int(ReadWords(address).at[block_at(type, i) + at / 4u]), int(at % 4u) * 8, 8);
    } else {
        uint word = ReadWords(address).at[block_at(type, i) + at % 16u / 4u];
        quant = int(bitfieldExtract(word, int(at % 4u * 8u + at / 16u * 4u), 4)) - 8;
    }
    return block_scale(address, type, i) * float(quant);
}

// A quarter of a block is 8 elements that lie together: two times 4 in a row, the first at `first` in the block, the
// others `quarter_stride` after them.
uint quarter_first(uint type, uint quarter) { return quarter * (type == Q8 ? 8u : 4u); }
uint quarter_stride(uint type) { return type == Q8 ? 4u : 16u; }
struct Quarter {
    vec4 first, second;
};
// Quarter `quarter` of the block that begins at element i.
Quarter quants8(uvec2 address, uint type, uint i, uint quarter) {
    if (type == Q8) {
        uvec2 words = ReadPairs(address).at[block_at(type, i) / 2u + quarter];
        return Quarter(quants_of_bytes(words.x), quants_of_bytes(words.y));
    }
    uint word = ReadWords(address).at[block_at(type, i) + quarter];
    return Quarter(quants_of_low_halves(word), quants_of_high_halves(word));
}
#endif
