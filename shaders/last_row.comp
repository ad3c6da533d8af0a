// last_row: y = x[valid - 1] of each sequence, the row from which its next token is computed; zeros where no row is
// valid.
//
// STEP elements of one row per invocation.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/last_row.h"
LAST_ROW_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/rows.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { LastRowParams p; };

void main() {
    uint per_row = p.cols / STEP, i = invocation_index();
    if (per_row == 0u || i / per_row >= p.sequences) return;
    uint sequence = i / per_row, col = i % per_row * STEP;
    uint valid = min(ReadWords(step_of(p.step, sequence)).at[STEP_VALID], p.rows);
    vec4 value = vec4(0.0);
    if (valid > 0u) {
        Row row = row_of(p.x, X_TYPE, sequence * p.rows + valid - 1u, p.cols);
        value = load_step(row.address, X_TYPE, row.begin + col);
    }
    store_step(p.y, X_TYPE, sequence * p.cols + col, value);
}
