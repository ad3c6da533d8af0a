// layer_norm: y = (s - mean(s)) / sqrt(var(s) + eps) * gamma + beta, s = x + residual, over rows; biased variance.
//
// One workgroup per row. Two passes over the row, the second over deviations from the mean: E[s^2] - E[s]^2 would
// cancel (relative error 7.7e-4 at mean 100, sd 1). The mean is taken relative to the row's first element, so that a
// constant row has deviations of exactly 0, not rounding noise divided by sqrt(eps). The row is read again from cache,
// so any width works.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/layer_norm.h"
LAYER_NORM_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"

layout(push_constant) uniform Push { LayerNormParams p; };

vec4 elements(uint i) {
    vec4 value = load_step(p.x, X_TYPE, i);
    return present(p.residual) ? value + load_step(p.residual, X_TYPE, i) : value;
}
float first_element(uint i) {
    float value = load(p.x, X_TYPE, i);
    return present(p.residual) ? value + load(p.residual, X_TYPE, i) : value;
}

float square_of(uint i, float shift, float shifted_mean) {
    vec4 deviation = (elements(i) - shift) - shifted_mean;
    return step_sum(deviation * deviation);
}

void store_row(uint begin, uint col, float shift, float shifted_mean, float rstd) {
    vec4 s = elements(begin + col), y = ((s - shift) - shifted_mean) * rstd;
    if (present(p.gamma)) y *= load_step(p.gamma, GAMMA_TYPE, col);
    if (present(p.beta)) y += load_step(p.beta, BETA_TYPE, col);
    if (present(p.sum)) store_step(p.sum, X_TYPE, begin + col, s);
    store_step(p.y, X_TYPE, begin + col, y);
}

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    uint begin = row * p.cols, lane = LANE * STEP, stride = gl_WorkGroupSize.x * STEP;
    uint whole = p.cols - p.cols % (UNROLL * stride);  // columns that come in full rounds
    float shift = first_element(begin), total = 0.0, square = 0.0, parts[UNROLL];
    [[unroll]] for (uint u = 0u; u < UNROLL; ++u) parts[u] = 0.0;
    for (uint first = 0u; first < whole; first += UNROLL * stride)
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) parts[u] += step_sum(elements(begin + first + u * stride + lane) - shift);
    for (uint col = whole + lane; col < p.cols; col += stride) total += step_sum(elements(begin + col) - shift);
    [[unroll]] for (uint u = 0u; u < UNROLL; ++u) {
        total += parts[u];
        parts[u] = 0.0;
    }
    float shifted_mean = workgroup_sum(total) / float(p.cols);
    for (uint first = 0u; first < whole; first += UNROLL * stride)
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) parts[u] += square_of(begin + first + u * stride + lane, shift, shifted_mean);
    for (uint col = whole + lane; col < p.cols; col += stride) square += square_of(begin + col, shift, shifted_mean);
    [[unroll]] for (uint u = 0u; u < UNROLL; ++u) square += parts[u];
    float rstd = 1.0 / sqrt(workgroup_sum(square) / float(p.cols) + p.eps);
    for (uint first = 0u; first < whole; first += UNROLL * stride)
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) store_row(begin, first + u * stride + lane, shift, shifted_mean, rstd);
    for (uint col = whole + lane; col < p.cols; col += stride) store_row(begin, col, shift, shifted_mean, rstd);
    if (LANE == 0u) {
        store(p.mean, F32, row, shift + shifted_mean);
        store(p.rstd, F32, row, rstd);
    }
}
