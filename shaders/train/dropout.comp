// dropout: y = x / (1 - probability), or x times 0 where the number drawn for the element says so.
//
// An invocation makes the numbers of four columns (lib/dropout.glsl). The backward pass draws them again.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/dropout.h"
DROPOUT_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/dropout.glsl"
#include "lib/index.glsl"
#include "lib/rows.glsl"
layout(push_constant) uniform Push { DropoutParams p; };

void main() {
    uint per_row = (p.width + 3u) / 4u;
    if (invocation_index() >= p.rows * per_row) return;  // before the divisions: it may be 0
    uint row = invocation_index() / per_row, group = invocation_index() % per_row;
    vec4 factors = four_kept(p.words, row, group);
    Row x = row_of(p.x, X_TYPE, row, p.width), y = row_of(p.y, X_TYPE, row, p.width);
    for (uint i = 0u; i < 4u && 4u * group + i < p.width; ++i) {
        uint col = 4u * group + i;
        store(y.address, X_TYPE, y.begin + col, factors[i] * load(x.address, X_TYPE, x.begin + col));
    }
}
