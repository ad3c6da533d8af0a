// split_heads and merge_heads: y[o, j, i, :] = x[o, i, j, :]; rows of `width` elements move as a whole.
//
// STEP elements per invocation, counted along y: writes are in order, and reads are runs of `width`.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/swap_axes.h"
SWAP_AXES_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { SwapAxesParams p; };

void main() {
    uint to = invocation_index() * STEP;
    if (to >= p.count) return;
    uint d = to % p.width, row = to / p.width;
    uint i = row % p.m, j = (row / p.m) % p.n, o = row / (p.m * p.n);
    uint from = ((o * p.m + i) * p.n + j) * p.width + d;
    store_step(p.y, X_TYPE, to, load_step(p.x, X_TYPE, from));
}
