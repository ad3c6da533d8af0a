// Elements of quantised weights (params/quantized.h has the layout):
//   Q8        d q           q in -127 … 127        Q4_1, Q5_1  d q + m        q in 0 … 15, 0 … 31
//   Q4        d (q - 8)     q in 0 … 15            Q4_K, Q5_K  d s q - m n    q in 0 … 15, 0 … 31
//   Q5        d (q - 16)    q in 0 … 31            Q6_K        d s (q - 32)   q in 0 … 63
//
// An integer becomes a float without a conversion, which is slow on some devices: its bits are put into the mantissa of
// a power of two, where bit b counts 1 if the power is 2^(23-b), and the power is taken away again. Exact: both are
// below 2^24.
#ifndef VANTAGE_QUANTIZED_GLSL
#define VANTAGE_QUANTIZED_GLSL
#include "params/quantized.h"

bool is_quantized(uint type) { return type >= Q8; }
bool has_minimum(uint type) { return type == Q4_1 || type == Q5_1 || type == Q4_K || type == Q5_K; }
float zero_quant(uint type) { return type == Q4 ? 8.0 : type == Q5 ? 16.0 : type == Q6_K ? 32.0 : 0.0; }

// Of a group: elements, and bytes of its parts.
uint group_elements(uint type) { return type == Q6_K ? Q6_K_GROUP : QUANT_GROUP; }
uint high_bits(uint type) { return type == Q6_K ? 2u : type == Q5 || type == Q5_1 || type == Q5_K ? 1u : 0u; }
uint quant_bytes(uint type) { return group_elements(type) / (type == Q8 ? 1u : 2u); }
uint high_bytes(uint type) { return group_elements(type) / 8u * high_bits(type); }
uint scale_bytes(uint type) { return type == Q6_K ? Q6_K_SCALES : type == Q4_1 || type == Q5_1 ? PAIR_SCALES : BLOCK_SCALES; }
uint group_bytes(uint type) { return quant_bytes(type) + high_bytes(type) + scale_bytes(type); }

// In words of 32 bits: where the group of element i begins, where its block's quants do, and the group's scales.
uint group_at(uint type, uint i) { return i / group_elements(type) * (group_bytes(type) / 4u); }
uint block_at(uint type, uint i) {
    return group_at(type, i) + i % group_elements(type) / QUANT_BLOCK * (type == Q8 ? 8u : 4u);
}
uint scales_at(uint type, uint i) { return group_at(type, i) + (quant_bytes(type) + high_bytes(type)) / 4u; }
// The word with the high bits of elements i … i + 3.
uint high_at(uint type, uint i) {
    return group_at(type, i) + quant_bytes(type) / 4u + i % group_elements(type) * high_bits(type) / 32u;
}

// In bytes: where the block that begins at element i does.
uint block_byte(uint type, uint i) {
    return (type == Q8 ? i : i / 2u) + i / group_elements(type) * (high_bytes(type) + scale_bytes(type));
}

// Of types with one scale for a block, in words: where those of element i's block and its neighbour are.
uint scale_word(uint type, uint i) { return scales_at(type, i) + i % QUANT_GROUP / (2u * QUANT_BLOCK); }
uint scale_byte(uint type, uint i) { return 4u * scale_word(type, i); }

// Of element i's block, from the word of its pair of blocks.
float scale_of_pair(uint pair, uint i) { return unpackHalf2x16((i & QUANT_BLOCK) != 0u ? pair >> 16 : pair).x; }
float block_scale(uvec2 address, uint type, uint i) {
    return scale_of_pair(ReadWords(address).at[scale_word(type, i)], i);
}

// x = scale q - minimum, with the first scale for elements 0 to 15 of a block, and the second for the others. Only Q6_K
// has two.
struct Scales {
    vec2 scale;
    float minimum;
};
// What those of element i's block are made of, and they. Loads do not wait for each other.
uvec4 load_scales(uvec2 address, uint type, uint i) {
    ReadWords words = ReadWords(address);
    if (type == Q4_K || type == Q5_K) return ReadOctets(address).at[scales_at(type, i) / 4u];
    if (type == Q4_1 || type == Q5_1) return uvec4(words.at[scales_at(type, i) + i % QUANT_GROUP / QUANT_BLOCK], 0u, 0u, 0u);
    if (type == Q6_K) {
        uint s = i % Q6_K_GROUP / 64u, d = Q6_K_GROUP / 64u + i % Q6_K_GROUP / 512u;
        return uvec4(words.at[scales_at(type, i) + s], words.at[scales_at(type, i) + d], 0u, 0u);
    }
    return uvec4(words.at[scale_word(type, i)], 0u, 0u, 0u);
}
Scales scales_of(uvec4 words, uint type, uint i) {
    if (type == Q4_K || type == Q5_K) {
        uint shift = i % QUANT_GROUP / QUANT_BLOCK * 4u, high = words.w >> shift;
        uint s = words.y >> shift & 15u | (high & 3u) << 4, n = words.z >> shift & 15u | (high & 12u) << 2;
        vec2 d = unpackHalf2x16(words.x);
        return Scales(vec2(d.x * float(s)), d.y * float(n));
    }
    if (type == Q4_1 || type == Q5_1) {
        vec2 d = unpackHalf2x16(words.x);
        return Scales(d.xx, -d.y);
    }
    if (type == Q6_K) {
        int pair = int((i & QUANT_BLOCK) != 0u ? words.x >> 16 : words.x);
        vec2 s = vec2(bitfieldExtract(pair, 0, 8), bitfieldExtract(pair, 8, 8));
        return Scales(unpackHalf2x16((i & QUANT_GROUP) != 0u ? words.y >> 16 : words.y).x * s, 0.0);
    }
    return Scales(vec2(scale_of_pair(words.x, i)), 0.0);
}

// The 4 bytes of a word, less `zero`.
vec4 quants_of_bytes(uint word, float zero) {
    uint high = word >> 16;
    return vec4(uintBitsToFloat((word & 0xffu) | 0x4b000000u) - (8388608.0 + zero),  // 2^23
                uintBitsToFloat((word & 0xff00u) | 0x47000000u) - (32768.0 + zero),  // 2^15
                uintBitsToFloat((high & 0xffu) | 0x4b000000u) - (8388608.0 + zero),
                uintBitsToFloat((high & 0xff00u) | 0x47000000u) - (32768.0 + zero));
}
vec4 quants_of_signed_bytes(uint word) { return quants_of_bytes(word ^ 0x80808080u, 128.0); }
// The low halves of the 4 bytes of a word; and the high halves.
vec4 quants_of_low_halves(uint word, float zero) {
    return vec4(uintBitsToFloat((word & 0xfu) | 0x4b000000u) - (8388608.0 + zero),   // 2^23
                uintBitsToFloat((word & 0xf00u) | 0x47000000u) - (32768.0 + zero),   // 2^15
                uintBitsToFloat((word & 0xf0000u) | 0x43000000u) - (128.0 + zero),   // 2^7
                uintBitsToFloat((word >> 16 & 0xf00u) | 0x47000000u) - (32768.0 + zero));
}
vec4 quants_of_high_halves(uint word, float zero) {
    return vec4(uintBitsToFloat((word & 0xf0u) | 0x49000000u) - (524288.0 + zero),   // 2^19
                uintBitsToFloat((word & 0xf000u) | 0x45000000u) - (2048.0 + zero),   // 2^11
                uintBitsToFloat((word >> 16 & 0xf0u) | 0x49000000u) - (524288.0 + zero),
                uintBitsToFloat((word >> 16 & 0xf000u) | 0x45000000u) - (2048.0 + zero));
}
// Low halves with the high bits that belong to them: in each byte of `high` from its lowest bit on.
vec4 quants_of_halves(uint type, uint low, uint high) {
    uint mask = high_bits(type) == 2u ? 0x03030303u : 0x01010101u;
    return quants_of_bytes(low & 0x0f0f0f0fu | (high & mask) << 4, zero_quant(type));
}

// The quants i … i + 3, i a multiple of 4, from the word that holds them and that of their high bits.
vec4 quants_of_word(uint type, uint word, uint high, uint i) {
    if (type == Q8) return quants_of_signed_bytes(word);
    word = (i & (QUANT_BLOCK / 2u)) != 0u ? word >> 4 : word;
    if (high_bits(type) == 0u) return quants_of_low_halves(word, zero_quant(type));
    return quants_of_halves(type, word, high >> (high_bits(type) == 2u ? i % 16u / 4u * 2u : i % 32u / 4u));
}
uint load_high(uvec2 address, uint type, uint i) { return high_bits(type) != 0u ? ReadWords(address).at[high_at(type, i)] : 0u; }
// Quants 4 quad … 4 quad + 3 of the block that begins at element i.
vec4 quants_of_block(uvec2 address, uint type, uint i, uint quad) {
    uint word = ReadWords(address).at[block_at(type, i) + (type == Q8 ? quad : quad % 4u)], at = i + 4u * quad;
    return quants_of_word(type, word, load_high(address, type, at), at);
}
// Elements i … i + 3, i a multiple of 4, from the words that hold them and the scales of their block.
vec4 weights_of(uint type, uint word, uint high, Scales scales, uint i) {
    float scale = (i & (QUANT_BLOCK / 2u)) != 0u ? scales.scale.y : scales.scale.x;
    vec4 quants = quants_of_word(type, word, high, i);
    return has_minimum(type) ? scale * quants - scales.minimum : scale * quants;
}
vec4 load_quantized4(uvec2 address, uint type, uint i) {
    uint word = ReadWords(address).at[block_at(type, i) + i % (type == Q8 ? QUANT_BLOCK : QUANT_BLOCK / 2u) / 4u];
    return weights_of(type, word, load_high(address, type, i), scales_of(load_scales(address, type, i), type, i), i);
}

// Element i.
float load_quantized(uvec2 address, uint type, uint i) {
    uint at = i % QUANT_BLOCK;
    if (type == Q8) {
        int quant = bitfieldExtract(int(ReadWords(address).at[block_at(type, i) + at / 4u]), int(at % 4u) * 8, 8);
        return block_scale(address, type, i) * float(quant);
    }
    if (type == Q4) {
        uint word = ReadWords(address).at[block_at(type, i) + at % 16u / 4u];
        return block_scale(address, type, i) * float(int(bitfieldExtract(word, int(at % 4u * 8u + at / 16u * 4u), 4)) - 8);
    }
    return load_quantized4(address, type, i - i % 4u)[i % 4u];
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
        return Quarter(quants_of_signed_bytes(words.x), quants_of_signed_bytes(words.y));
    }
    uint word = ReadWords(address).at[block_at(type, i) + quarter];
    if (high_bits(type) == 0u)
        return Quarter(quants_of_low_halves(word, zero_quant(type)), quants_of_high_halves(word, zero_quant(type)));
    uint first = load_high(address, type, i), second = high_bits(type) == 1u ? first >> 4 : load_high(address, type, i + 16u);
    quarter *= high_bits(type);
    return Quarter(quants_of_halves(type, word, first >> quarter), quants_of_halves(type, word >> 4, second >> quarter));
}
#endif
