// How quantised weights lie in memory, for kernels (lib/quantized.glsl) and for the host (runtime/base/quantize.cpp).
//
// 32 elements in a row are a block: one scale (f16) and a quant each, as in ggml's Q8_0 (8 bits) and Q4_0 (4 bits). A
// tensor is a sequence of groups of 8 blocks: first the quants of all, block by block as ggml has them, then their
// scales. So a block takes the 34 or 18 bytes that it takes there, quants begin on 16 bytes, and element i is found
// from i alone.
#include "params/types.h"
#ifndef VANTAGE_QUANTIZED_H
#define VANTAGE_QUANTIZED_H
VANTAGE_PARAMS_BEGIN
const uint QUANT_BLOCK = 32u, QUANT_GROUP = 256u;         // elements
const uint Q8_QUANT_BYTES = 256u, Q8_GROUP_BYTES = 272u;  // of a group: its quants, all of it
const uint Q4_QUANT_BYTES = 128u, Q4_GROUP_BYTES = 144u;
VANTAGE_PARAMS_END
#endif
