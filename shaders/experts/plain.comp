// expert_linear: y[c, col] = sum_k x[c / share, k] W_e[col, k] + bias_e[col], e the expert of choice c; 0 where it has
// none.
//
// One invocation per element of y, k in order: the definition.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "lib/experts.glsl"
#include "lib/index.glsl"

void main() {
    uint i = invocation_index();
    if (i >= p.choices * p.n) return;
    uint choice = i / p.n, col = i % p.n, expert = expert_of(choice);
    float sum = 0.0;
    if (expert != NONE) {
        Row w = matrix_of(expert);
        for (uint k = 0u; k < p.k; ++k)
            sum += load(p.x, X_TYPE, choice / p.share * p.k + k) * weight_at(w, k, col);
        sum = with_bias(sum, expert, col);
    }
    store(p.y, X_TYPE, i, sum);
}
