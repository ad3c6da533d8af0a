// softmax: y = exp(s - max(s)) / sum exp(s - max(s)), s = scale x; log_softmax: y = s - max(s) - ln sum exp(s -
// max(s)).
//
// One workgroup per row of `count` elements, `inner` apart: the axis may be any. Three passes: maximum, sum, result;
// the row is read again from cache. The maximum is subtracted, so exp cannot overflow, and starts from the smallest
// finite number: a row of -inf keeps that, each exp(-inf) is 0, and the row becomes zeros (softmax) or -inf
// (log_softmax), not NaN.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/softmax.h"
SOFTMAX_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"

layout(push_constant) uniform Push { SoftmaxParams p; };

const float lowest = -3.4028234e38;

// exp(-inf) and differences of it are 0 by choice here, not by what a device makes of infinities.
vec4 powers(vec4 s, float maximum) { return mix(exp(s - maximum), vec4(0.0), lessThan(s, vec4(lowest))); }

uint begin;
vec4 scaled(uint j) { return p.scale * load_step(p.x, X_TYPE, begin + j * p.inner); }

void store_result(uint j, float maximum, float factor, float logarithm) {
    vec4 s = scaled(j);
    store_step(p.y, X_TYPE, begin + j * p.inner, p.logarithm != 0u ? (s - maximum) - logarithm : powers(s, maximum) * factor);
}

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    begin = (row / p.inner) * p.count * p.inner + row % p.inner;
    uint lane = LANE * STEP, stride = gl_WorkGroupSize.x * STEP;
    uint whole = p.count - p.count % (UNROLL * stride);  // elements that come in full rounds
    float own_max = lowest, total = 0.0, parts[UNROLL];
    [[unroll]] for (uint u = 0u; u < UNROLL; ++u) parts[u] = lowest;
    for (uint first = 0u; first < whole; first += UNROLL * stride)
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) parts[u] = max(parts[u], step_max(scaled(first + u * stride + lane)));
    for (uint j = whole + lane; j < p.count; j += stride) own_max = max(own_max, step_max(scaled(j)));
    [[unroll]] for (uint u = 0u; u < UNROLL; ++u) {
        own_max = max(own_max, parts[u]);
        parts[u] = 0.0;
    }
    float maximum = workgroup_max(own_max);
    for (uint first = 0u; first < whole; first += UNROLL * stride)
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) parts[u] += step_sum(powers(scaled(first + u * stride + lane), maximum));
    for (uint j = whole + lane; j < p.count; j += stride) total += step_sum(powers(scaled(j), maximum));
    [[unroll]] for (uint u = 0u; u < UNROLL; ++u) total += parts[u];
    float sum = workgroup_sum(total);
    float factor = sum > 0.0 ? 1.0 / sum : 0.0, logarithm = sum > 0.0 ? log(sum) : 0.0;
    for (uint first = 0u; first < whole; first += UNROLL * stride)
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) store_result(first + u * stride + lane, maximum, factor, logarithm);
    for (uint j = whole + lane; j < p.count; j += stride) store_result(j, maximum, factor, logarithm);
}
