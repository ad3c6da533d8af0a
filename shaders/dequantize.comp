// dequantize: y = x as floats, of a cache the rows that hold data, lane by lane of the run, for kernels that do not read quantised keys and values.
//
// 4 elements of one row per invocation, and again until all filled rows are done: most of a long context may be empty.
// Kernels read whole tiles of keys, and multiply those beyond the last one by 0: some rows behind it become 0.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/dequantize.h"
DEQUANTIZE_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/rows.glsl"
#include "lib/cache.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { DequantizeParams p; };

const uint BEHIND = 256u;  // rows; no tile is larger

void main() {
    uint per_row = p.cols / 4u;
    for (uint lane = 0u; lane * p.rows_each < p.rows; ++lane) {
        uint keys = p.rows_each;
        if (present(p.step)) keys = min(ReadWords(step_of(p.step, lane)).at[STEP_KEYS], p.rows_each);
        uint sequence = sequence_of(p.step, lane), end = min(keys + BEHIND, p.rows_each) * per_row;
        for (uint i = invocation_index(); i < end; i += invocation_count()) {
            uint row = i / per_row, col = 4u * (i % per_row);
            uint from = cache_row(sequence, p.rows_each, row) * p.cols + col, to = (lane * p.rows_each + row) * p.cols + col;
            store4(p.y, Y_TYPE, to, row < keys ? load4(p.x, X_TYPE, from) : vec4(0.0));
        }
    }
}
