// What the kernels of expert_linear share: y[c] = x[c / share] W_e^T + bias_e, e the expert of choice c; 0 where it has
// none.
#include "lib/rows.glsl"
#include "params/experts.h"
EXPERT_LINEAR_CONSTANTS(VANTAGE_CONSTANT)
layout(push_constant) uniform Push { ExpertLinearParams p; };

const uint NONE = 0xffffffffu;
uint expert_of(uint choice) {
    return ReadWords(p.slots).at[choice] == NONE ? NONE : ReadWords(p.index).at[choice];
}
// An expert's matrix: a row of the stack of them, which may be larger than 2^32 bytes.
Row matrix_of(uint expert) { return row_of(p.w, W_TYPE, expert, p.n * p.k); }
float weight_at(Row matrix, uint k, uint col) {
    return load(matrix.address, W_TYPE, matrix.begin + (TRANSPOSED ? col * p.k + k : k * p.n + col));
}
float with_bias(float sum, uint expert, uint col) {
    return present(p.bias) ? sum + load(p.bias, BIAS_TYPE, expert * p.n + col) : sum;
}
