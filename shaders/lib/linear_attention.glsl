// What the kernels of linear attention share: rows of heads, and the feature map elu(x) + 1.
#include "lib/activation.glsl"
#include "lib/storage.glsl"
#include "params/linear_attention.h"
LINEAR_ATTENTION_CONSTANTS(VANTAGE_CONSTANT)
#ifndef PARAMS
#define PARAMS LinearAttentionParams
#endif
layout(push_constant) uniform Push { PARAMS p; };

uint head_row(uint batch_and_head, uint i) {
    uint head = batch_and_head % p.heads, batch = batch_and_head / p.heads;
    return p.heads_first != 0u ? (batch * p.heads + head) * p.n + i : (batch * p.n + i) * p.heads + head;
}
float feature(float x) { return FEATURE == 0u ? x : elu_plus_1(x); }
uint first_cell(uint batch_and_head, uint chunk) { return (batch_and_head * p.chunks + chunk) * p.d * (p.dv + 1u); }
