// write into a state that is quantised: a block of 32 elements of one row per invocation.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/write.h"
WRITE_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/rows.glsl"
#include "lib/cache.glsl"
#include "lib/index.glsl"
#include "lib/quantize_block.glsl"

layout(push_constant) uniform Push { WriteParams p; };

void main() {
    uint per_row = p.cols / QUANT_BLOCK, i = invocation_index();
    if (per_row == 0u || i / per_row >= p.rows) return;
    uint r = i / per_row, col = i % per_row * QUANT_BLOCK, lane = r / p.rows_each, own = r % p.rows_each;
    uvec2 step = step_of(p.step, lane);
    uint position = position_of(step, own);
    if (!is_valid(step, own) || position >= p.state_rows) return;
    vec4 x[8];
    for (uint w = 0u; w < 8u; ++w) x[w] = load4(p.x, X_TYPE, r * p.cols + col + 4u * w);
    uint row = cache_row(p.by_lane != 0u ? lane : sequence_of(p.step, lane), p.state_rows, position);
    store_block(p.state, STATE_TYPE, row * p.cols + col, x);
}
