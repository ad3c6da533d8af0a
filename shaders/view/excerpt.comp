// Single weights for the host, as a map shows them: a rectangle of queries and columns, row by row. One invocation
// each.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/view.h"
#include "lib/index.glsl"
layout(push_constant) uniform Push { ViewExcerptParams t; };
#include "lib/shown_weight.glsl"

void main() {
    uint i = invocation_index();
    if (i >= t.rows * t.columns) return;
    const uint not_a_number = 0x7fc00000u;  // as a word: not every device keeps NaN
    TappedWeight weight = shown_weight(t.first_row + i / t.columns, t.first_column + i % t.columns);
    Words(t.result).at[i] = weight.seen ? floatBitsToUint(weight.value) : not_a_number;
}
