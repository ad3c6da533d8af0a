// last_row: y = x[valid - 1], the row from which the next token is computed; zeros where no row is valid.
//
// STEP elements per invocation.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 1) const uint X_TYPE = 0;  // x, y
layout(constant_id = 2) const uint STEP = 1;    // 4 where cols % 4 == 0
#include "lib/steps.glsl"
#include "lib/rows.glsl"
#include "lib/index.glsl"
#include "params/last_row.h"

layout(push_constant) uniform Push { LastRowParams p; };

void main() {
    uint i = invocation_index() * STEP, valid = min(ReadWords(p.step).at[STEP_VALID], p.rows);
    if (i >= p.cols) return;
    vec4 value = vec4(0.0);
    if (valid > 0u) {
        Row row = row_of(p.x, X_TYPE, valid - 1u, p.cols);
        value = load_step(row.address, X_TYPE, row.begin + i);
    }
    store_step(p.y, X_TYPE, i, value);
}
