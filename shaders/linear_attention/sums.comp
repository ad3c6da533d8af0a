// linear_attention, first of three: the sums of every chunk of tokens, S = sum_j phi(k_j) (v_j, 1)^T.
//
// BACKWARD: those of its gradient, sum_i phi(q_i) (dout_i / n_i, -delta_i / n_i)^T. The operands k and v are then q and
// dout, and lse has the two factors of each row (backward_stats.comp).
//
// One workgroup per chunk of a head; lanes take the cells of S, each runs over the chunk's tokens.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/linear_attention.glsl"

void main() {
    uint head = workgroup_index() / p.chunks, chunk = workgroup_index() % p.chunks;
    if (head >= p.batch * p.heads) return;
    uint begin = chunk * CHUNK, end = min(begin + CHUNK, p.n);
    for (uint cell = gl_LocalInvocationID.x; cell < p.d * (p.dv + 1u); cell += gl_WorkGroupSize.x) {
        uint d = cell / (p.dv + 1u), e = cell % (p.dv + 1u);
        float sum = 0.0;
        for (uint j = begin; j < end; ++j) {
            uint row = head_row(head, j);
            float value = e < p.dv ? load(p.v, X_TYPE, row * p.dv + e) : 1.0;
#ifdef BACKWARD
            value *= ReadFloats(p.lse).at[2u * row + (e < p.dv ? 0u : 1u)];
#endif
            sum += feature(load(p.k, X_TYPE, row * p.d + d)) * value;
        }
        Floats(p.sums).at[first_cell(head, chunk) + cell] = sum;
    }
}
