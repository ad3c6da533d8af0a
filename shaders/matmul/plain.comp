// matmul: c[row, col] = activation(alpha sum_k a[row, k] b[k, col] + bias[col]) + beta residual[row, col].
//
// One invocation per element of c, k in order: the definition. It runs everywhere, is the first suspect's judge, and is
// never chosen for speed.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/matmul.glsl"

void main() {
    uint i = invocation_index(), cells = p.m * p.n;
    if (i >= cells * p.batches) return;
    uint batch = i / cells, row = (i % cells) / p.n, col = i % p.n;
    uint a0 = a_base(batch), b0 = b_base(batch);
    float sum = 0.0;
    for (uint k = 0u; k < p.k; ++k)
        sum += load(p.a, A_TYPE, a0 + a_index(row, k)) * load(p.b, B_TYPE, b0 + b_index(k, col));
    store(p.c, A_TYPE, i, epilogue(sum, batch, row, col));
}
