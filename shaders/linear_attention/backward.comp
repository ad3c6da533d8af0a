// linear_attention_backward, last. With f = phi(q), g = phi(k), w = (v, 1) and a = (dout / n, -delta / n):
//   BY 0: dq_i = phi'(q_i) (S a_i),  S = sum of g_j w_j^T over the tokens j that i sees
//   BY 1: dk_j = phi'(k_j) (R w_j),  R = sum of f_i a_i^T over the tokens i that see j, and the last state's gradient
//   BY 2: dv_j = R^T g_j, without its last element
// Sums are those of the chunks before or after, and the tokens of the own chunk one by one, as in rows.comp.
//
// One workgroup per row; lanes take the chunk's tokens, then the result's features.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#define PARAMS LinearAttentionBackwardParams
#include "lib/linear_attention.glsl"
LINEAR_ATTENTION_BACKWARD_CONSTANTS(VANTAGE_CONSTANT)
shared float own[TERMS];
shared float weights[CHUNK];

// Elements of f or g, and of a or w: of a query or of a key.
float narrow(bool query, uint row, uint d) { return feature(load(query ? p.q : p.k, X_TYPE, row * p.d + d)); }
float wide(bool query, uint row, uint e) {
    float value = e < p.dv ? load(query ? p.dout : p.v, X_TYPE, row * p.dv + e) : 1.0;
    return query ? value * ReadFloats(p.stats).at[2u * row + (e < p.dv ? 0u : 1u)] : value;
}
float slope(float x) {
    if (FEATURE == 0u) return 1.0;
    return x > 0.0 ? 1.0 : elu_plus_1(x);
}

void main() {
    uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
    if (workgroup_index() >= p.batch * p.heads * p.n) return;
    uint head = workgroup_index() / p.n, i = workgroup_index() % p.n, row = head_row(head, i);
    uint chunk = p.causal != 0u ? i / CHUNK : 0u, begin = 0u, end = 0u;  // of the own chunk
    if (p.causal != 0u) {
        begin = BY == 0u ? chunk * CHUNK : i;
        end = BY == 0u ? i + 1u : min(chunk * CHUNK + CHUNK, p.n);
    }
    for (uint t = lane; t < TERMS; t += lanes) own[t] = BY == 2u ? narrow(false, row, t) : wide(BY == 0u, row, t);
    barrier();
    for (uint j = begin + lane; j < end; j += lanes) {
        uint other = head_row(head, j);
        float weight = 0.0;
        for (uint t = 0u; t < TERMS; ++t)
            weight += own[t] * (BY == 2u ? narrow(true, other, t) : wide(BY == 1u, other, t));
        weights[j - begin] = weight;
    }
    barrier();
    uint cells = first_cell(head, chunk), results = BY == 2u ? p.dv : p.d, columns = p.dv + 1u;
    for (uint r = lane; r < results; r += lanes) {
        float sum = 0.0;
        for (uint t = 0u; t < TERMS; ++t)
            sum += own[t] * ReadFloats(p.sums).at[cells + (BY == 2u ? t * columns + r : r * columns + t)];
        for (uint j = begin; j < end; ++j) {
            uint other = head_row(head, j);
            sum += weights[j - begin] * (BY == 2u ? wide(true, other, r) : narrow(BY == 1u, other, r));
        }
        uint at = row * results + r;
        if (BY != 2u) sum *= slope(load(BY == 0u ? p.q : p.k, X_TYPE, at));
        store(p.result, X_TYPE, at, sum);
    }
}
