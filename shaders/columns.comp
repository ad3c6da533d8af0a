// columns: y = x[.., first : first + width].
//
// STEP elements per invocation: 4 where rows of both, and the first column, begin on such a boundary.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/columns.h"
COLUMNS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { ColumnsParams p; };

void main() {
    uint i = invocation_index() * STEP;
    if (i >= p.count) return;
    store_step(p.y, X_TYPE, i, load_step(p.x, X_TYPE, i / p.width * p.cols + p.first + i % p.width));
}
