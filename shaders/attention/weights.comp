// The tap: p_ij = exp(s_ij - lse_i), s_ij = scale q_i k_j and the rules, for a window of rows and keys of one head, 0
// where masked. With a FEATURE map phi (linear attention) p_ij = phi(q_i) phi(k_j) exp(-lse_i), without a scale. One
// invocation per weight, one dot product each: exact because q, k and lse are the values that the flash kernel used.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "params/attention.h"
layout(push_constant) uniform Push { AttentionWeightsParams p; };
#include "lib/tapped_weight.glsl"

void main() {
    uint i = invocation_index();
    if (i >= p.rows * p.keys) return;
    uint row = p.first_row + i / p.keys, key = p.first_key + i % p.keys;
    Floats(p.p).at[i] = tapped_weight(p.head, row, int(p.position + row), key).value;
}
