// What all matmul kernels share: c = activation(alpha a b + bias) + beta residual.
#include "lib/activation.glsl"
#include "lib/storage.glsl"
#include "params/matmul.h"

MATMUL_CONSTANTS(VANTAGE_CONSTANT)
layout(push_constant) uniform Push { MatmulParams p; };

uint a_base(uint batch) { return (batch / p.inner_batches) * p.a_outer + (batch % p.inner_batches) * p.a_inner; }
uint b_base(uint batch) { return (batch / p.inner_batches) * p.b_outer + (batch % p.inner_batches) * p.b_inner; }
uint padded_k(uint step) { return (p.k + step - 1u) / step * step; }
bool b_is_shared() { return (p.b_outer | p.b_inner) == 0u; }  // by all batches
uint a_index(uint row, uint k) { return TRANSPOSE_A ? k * p.m + row : row * p.k + k; }
uint b_index(uint k, uint col) { return TRANSPOSE_B ? col * p.k + k : k * p.n + col; }

float epilogue(float product, uint batch, uint row, uint col) {
    float value = p.alpha * product;
    if (present(p.bias)) value += load(p.bias, BIAS_TYPE, col);
    value = activate(ACTIVATION, value);
    if (present(p.residual)) value += p.beta * load(p.residual, A_TYPE, (batch * p.m + row) * p.n + col);
    return value;
}
