// dequantize: y = x as floats, of a cache the rows that hold data, lane by lane of the run, for kernels that do not read quantised keys and values.
//
// 4 elements of one row per invocation. Kernels read whole tiles of keys, and multiply those beyond the last one by 0:
// some rows behind it become 0.
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
    uint per_row = p.cols / 4u, i = invocation_index();
    if (per_row == 0u || i / per_row >= p.rows) return;
    uint row = i / per_row, own = row % p.rows_each, lane = row / p.rows_each, keys = p.rows_each;
    if (present(p.step)) keys = min(ReadWords(step_of(p.step, lane)).at[STEP_KEYS], p.rows_each);
    if (own >= keys && own - keys >= BEHIND) return;
    uint from = cache_row(sequence_of(p.step, lane), p.rows_each, own) * p.cols + 4u * (i % per_row);
    store4(p.y, Y_TYPE, 4u * i, own < keys ? load4(p.x, X_TYPE, from) : vec4(0.0));
}
