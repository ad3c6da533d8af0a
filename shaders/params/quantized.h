// How quantised weights lie in memory, for kernels (lib/quantized.glsl) and for the host (runtime/base/quantize.cpp).
//
// 32 elements in a row are a block, as in ggml's types of the same names. A tensor is a sequence of groups of blocks:
// first the quants of all, then the bits above 4 of all (high), then the scales of all.
//
//   bytes of a group   elements   quants   high   scales
//   q8_0                    256      256            16   an f16, d, for each block
//   q4_0, q5_0              256      128   0, 32    16   the same
//   q4_1, q5_1              256      128   0, 32    32   two f16, d and m, for each block
//   q4_k, q5_k              256      128   0, 32    16   two f16, d and m; for each block s and n, 6 bits each
//   q6_k                   2048     1024    512    144   a byte with a sign, s, for 16 elements; then an f16, d, for 256
//
// q8_0 has quants of a byte. Of others, byte j of a block has the low 4 bits of elements j and j + 16. High bits of
// element 4 q + c, c < 4: bit 8 c + q of the block's word; of q6_k bits 8 c + 2 (q % 4) and the next of word q / 4.
// s and n of block b of q4_k and q5_k, in three words: bits 4 b to 4 b + 3 of the first are the low ones of s, of the
// second those of n, and of the third the two high ones of s, then of n.
//
// So a tensor takes the bytes that it takes in a file of ggml's, but for a last group in part; quants begin on 16 bytes, and element i is found from i
// alone.
#include "params/types.h"
#ifndef VANTAGE_QUANTIZED_H
#define VANTAGE_QUANTIZED_H
VANTAGE_PARAMS_BEGIN
const uint QUANT_BLOCK = 32u, QUANT_GROUP = 256u, Q6_K_GROUP = 2048u;  // elements
const uint BLOCK_SCALES = 16u, PAIR_SCALES = 32u, Q6_K_SCALES = 144u;  // bytes in a group
VANTAGE_PARAMS_END
#endif
