// rms_norm: y = s / sqrt(mean(s^2) + eps) * (weight_offset + weight), s = x + residual, over rows.
//
// One workgroup per row: a pass for the sum of squares, a pass for the result; the second reads the row from cache, so
// any width works. A sum of squares does not cancel: one plain float32 sum per lane, joined by a tree, is enough.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/rms_norm.h"
RMS_NORM_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"

layout(push_constant) uniform Push { RmsNormParams p; };

vec4 elements(uint i) {
    vec4 value = load_step(p.x, X_TYPE, i);
    return present(p.residual) ? value + load_step(p.residual, X_TYPE, i) : value;
}

float square_of(uint i) {
    vec4 s = elements(i);
    return step_sum(s * s);
}

void store_row(uint begin, uint col, float rstd) {
    vec4 s = elements(begin + col), y = s * rstd;
    if (present(p.weight)) y *= p.weight_offset + load_step(p.weight, WEIGHT_TYPE, col);
    if (present(p.sum)) store_step(p.sum, X_TYPE, begin + col, s);
    store_step(p.y, X_TYPE, begin + col, y);
}

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    uint begin = row * p.cols, lane = LANE * STEP, stride = gl_WorkGroupSize.x * STEP;
    uint whole = p.cols - p.cols % (UNROLL * stride);  // columns that come in full rounds
    float squares[UNROLL], square = 0.0;
    [[unroll]] for (uint u = 0u; u < UNROLL; ++u) squares[u] = 0.0;
    for (uint first = 0u; first < whole; first += UNROLL * stride)
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) squares[u] += square_of(begin + first + u * stride + lane);
    for (uint col = whole + lane; col < p.cols; col += stride) square += square_of(begin + col);
    [[unroll]] for (uint u = 0u; u < UNROLL; ++u) square += squares[u];
    float rstd = 1.0 / sqrt(workgroup_sum(square) / float(p.cols) + p.eps);
    for (uint first = 0u; first < whole; first += UNROLL * stride)
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) store_row(begin, first + u * stride + lane, rstd);
    for (uint col = whole + lane; col < p.cols; col += stride) store_row(begin, col, rstd);
    if (LANE == 0u) store(p.rstd, F32, row, rstd);
}
