// Quantised weights as bytes, for products of bytes with rows that are rounded to bytes (lib/round_bytes.glsl).
//
// Weights of q8 are bytes. A half byte of q4 is moved into the upper half of a byte: with its highest bit turned round
// that is 16 (q - 8), and the 16 goes into the scale.
#include "lib/storage.glsl"

uint low_nibbles(uint word) { return (word ^ 0x88888888u) << 4 & 0xf0f0f0f0u; }
uint high_nibbles(uint word) { return (word ^ 0x88888888u) & 0xf0f0f0f0u; }

// The scale of packed quants of the block that begins at element i, from the word of its pair of blocks; and loaded.
float int8_scale_of_pair(uint pair, uint type, uint i) { return scale_of_pair(pair, i) * (type == Q8 ? 1.0 : 0.0625); }
float int8_scale(uvec2 address, uint type, uint i) {
    return int8_scale_of_pair(ReadWords(address).at[scale_word(type, i)], type, i);
}
// The first or second half of that block, 16 elements in their order: of what lies in memory the bytes that it holds.
uvec4 bytes_of_half(uvec4 raw, uint type, uint part) {
    return type == Q8 ? raw : (raw ^ 0x88888888u) << (4u - 4u * part) & 0xf0f0f0f0u;
}
// A quarter as lib/quantized.glsl divides blocks: 8 elements, the first four at quarter_first, the others
// quarter_stride after them.
uvec2 int8_quarter(uvec2 address, uint type, uint i, uint quarter) {
    if (type == Q8) return ReadPairs(address).at[block_at(type, i) / 2u + quarter];
    uint word = ReadWords(address).at[block_at(type, i) + quarter];
    return uvec2(low_nibbles(word), high_nibbles(word));
}

// Rounded rows [m, k]: the bytes of all, then a scale for each block.
uvec2 scales_of_rows(uvec2 rows, uint m, uint k) { return advance(rows, m * k); }
