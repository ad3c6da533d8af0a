// scatter_rows: y_r = scale times the sum of the rows x_i with ids_i = r, in the order of i; 0 where there is none.
//
// A workgroup makes a row of y: no atomics, and the same bits in every run. Its invocations share out the ids to see
// whether one of them is the row, which is rare in a vocabulary. Only then each of them reads all ids.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/scatter_rows.h"
SCATTER_ROWS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/rows.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { ScatterRowsParams p; };

shared uint found;

void look_for(uint row) {
    if (gl_LocalInvocationID.x == 0u) found = 0u;
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < p.count; i += gl_WorkGroupSize.x)
        if (ReadWords(p.ids).at[i] == row) atomicOr(found, 1u);
    barrier();
}

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    if (p.ids_below == 0u) look_for(row);
    Row y = row_of(p.y, F32, row, p.width);
    for (uint col = gl_LocalInvocationID.x * STEP; col < p.width; col += gl_WorkGroupSize.x * STEP) {
        vec4 total = vec4(0.0);
        if (p.ids_below == 0u) {
            for (uint i = 0u; found != 0u && i < p.count; ++i)
                if (ReadWords(p.ids).at[i] == row) {
                    Row x = row_of(p.x, X_TYPE, i, p.width);
                    total += load_step(x.address, X_TYPE, x.begin + col);
                }
        } else if (row >= p.first && row - p.first < p.count && ReadWords(p.ids).at[row - p.first] < p.ids_below) {
            Row x = row_of(p.x, X_TYPE, row - p.first, p.width);
            total = load_step(x.address, X_TYPE, x.begin + col);
        }
        store_step(y.address, F32, y.begin + col, p.scale * total);
    }
}
