// bigbird_blocks: how often each block of a text's queries sees each block of its keys (runtime/ops/bigbird_blocks.cpp
// has the rule). One invocation per cell of the table of a lane's sequence.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/bigbird_blocks.h"
#include "lib/index.glsl"
#include "lib/rows.glsl"

layout(push_constant) uniform Push { BigbirdBlocksParams p; };

// Of a text of `tokens` tokens, whose last block may be partly filled.
uint count_of(uint tokens, uint i, uint j) {
    uint filled = (tokens + p.block_size - 1u) / p.block_size;
    if (max(i, j) >= filled) return 0u;
    bool full = tokens <= (5u + 2u * p.random) * p.block_size;
    if (full || i == 0u || i == filled - 1u) return 1u;
    if (j == 0u) return 1u + p.random;
    return j == filled - 1u || abs(int(i) - int(j)) <= 1 ? 1u : 0u;
}

void main() {
    uint cell = invocation_index(), cells = p.blocks * p.blocks;
    if (cells == 0u || cell / cells >= p.lanes) return;
    uint lane = cell / cells, own = cell % cells, tokens = ReadWords(step_of(p.step, lane)).at[STEP_KEYS];
    uvec2 table = row_address(p.table, F32, sequence_of(p.step, lane), cells);
    Words(table).at[own] = count_of(tokens, own / p.blocks, own % p.blocks);
}
