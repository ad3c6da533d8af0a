// expert_gradient: dW_e[row, col] = sum over the choices c of expert e of dy[c, row] x[c / share, col], and with dbias
// their sums of dy. An invocation makes one element, over the choices in their order; the first of each row also makes
// the bias.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/experts.h"
EXPERT_GRADIENT_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { ExpertGradientParams p; };

void main() {
    uint i = invocation_index(), each = p.n * p.k;
    if (i >= p.experts * each) return;  // before the divisions: each may be 0
    uint expert = i / each, place = i % each;
    uint row = TRANSPOSED ? place / p.k : place % p.n, col = TRANSPOSED ? place % p.k : place / p.n;
    float sum = 0.0, bias = 0.0;
    uint end = ReadWords(p.offsets).at[expert + 1u];
    for (uint at = ReadWords(p.offsets).at[expert]; at < end; ++at) {
        uint choice = ReadWords(p.order).at[at];
        float dy = load(p.dy, DY_TYPE, choice * p.n + row);
        sum += dy * load(p.x, X_TYPE, choice / p.share * p.k + col);
        bias += dy;
    }
    Floats(p.dw).at[i] = sum;
    if (col == 0u && present(p.dbias)) Floats(p.dbias).at[expert * p.n + row] = bias;
}
