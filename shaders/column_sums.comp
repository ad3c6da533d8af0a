// column_sums: s_c = sum over rows r of x_rc, times (y_rc - mean_r) rstd_r where they are there.
//
// An invocation sums one column over a block of rows, with the loads of several rows on their way together. What
// several blocks give is summed by the same kernel again: the order depends on the shape alone.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/column_sums.h"
COLUMN_SUMS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/storage.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { ColumnSumsParams p; };

float value_at(uint row, uint col) {
    float value = load(p.x, X_TYPE, row * p.cols + col);
    if (present(p.y)) {
        float factor = load(p.y, Y_TYPE, row * p.cols + col);
        if (present(p.mean)) factor -= ReadFloats(p.mean).at[row];
        if (present(p.rstd)) factor *= ReadFloats(p.rstd).at[row];
        value *= factor;
    }
    return value;
}

void main() {
    uint parts = (p.cols + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x, group = workgroup_index();
    uint block = group / parts, col = group % parts * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint begin = block * p.block, end = min(begin + p.block, p.rows);
    if (col >= p.cols || (begin >= p.rows && block > 0u)) return;
    float total = 0.0;
    const uint TOGETHER = 8u;
    uint row = begin;
    for (; row + TOGETHER <= end; row += TOGETHER) {
        float values[TOGETHER];
        [[unroll]] for (uint i = 0u; i < TOGETHER; ++i) values[i] = value_at(row + i, col);
        [[unroll]] for (uint i = 0u; i < TOGETHER; ++i) total += values[i];
    }
    for (; row < end; ++row) total += value_at(row, col);
    Floats(p.sums).at[block * p.cols + col] = total;
}
