// Adds the sums that the parts of k left, in their order, which never changes: c = activation(alpha sum + bias) + beta
// residual.
//
// One invocation per four columns of a row.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/matmul.h"
MATMUL_REDUCE_SPLITS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"
#include "lib/matmul_store.glsl"

void main() {
    uint quads = (p.n + 3u) / 4u, i = invocation_index(), row = i / quads, col = i % quads * 4u;
    if (row >= p.batches * p.m) return;
    vec4 sum = vec4(0.0);
    for (uint split = 0u; split < p.k_splits; ++split) {
        uvec2 sums = split_sums(p.a, split);
        if (STEP_N == 4u)
            sum += load4(sums, F32, row * p.n + col);
        else
            for (uint e = 0u; e < min(4u, p.n - col); ++e) sum[e] += load(sums, F32, row * p.n + col + e);
    }
    store_result(sum, row / p.m, row % p.m, col);
}
