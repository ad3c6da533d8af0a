// softmax: y = exp(s - max(s)) / sum exp(s - max(s)), s = scale x; log_softmax: y = s - max(s) - ln sum exp(s - max(s)).
//
// One workgroup per row of `count` elements, `inner` apart: the axis may be any. Three passes: maximum, sum, result;
// the row is read again from cache. The maximum is subtracted, so exp cannot overflow, and starts from the smallest
// finite number: a row of -inf keeps that, each exp(-inf) is 0, and the row becomes zeros (softmax) or -inf
// (log_softmax), not NaN.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 1) const uint X_TYPE = 0;  // x, y
layout(constant_id = 2) const uint STEP = 1;    // 4 where inner == 1 and count % 4 == 0
#include "lib/steps.glsl"
#include "params/softmax.h"
#include "lib/index.glsl"
#include "lib/reduce.glsl"

layout(push_constant) uniform Push { SoftmaxParams p; };

const float lowest = -3.4028234e38;

// exp(-inf) and differences of it are 0 by choice here, not by what a device makes of infinities.
vec4 powers(vec4 s, float maximum) { return mix(exp(s - maximum), vec4(0.0), lessThan(s, vec4(lowest))); }

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    uint begin = (row / p.inner) * p.count * p.inner + row % p.inner;
    uint lane = gl_LocalInvocationID.x * STEP, stride = gl_WorkGroupSize.x * STEP;
    float most = lowest;
    for (uint j = lane; j < p.count; j += stride)
        most = max(most, step_max(p.scale * load_step(p.x, X_TYPE, begin + j * p.inner)));
    float maximum = workgroup_max(most), total = 0.0;
    for (uint j = lane; j < p.count; j += stride)
        total += step_sum(powers(p.scale * load_step(p.x, X_TYPE, begin + j * p.inner), maximum));
    float sum = workgroup_sum(total);
    float factor = sum > 0.0 ? 1.0 / sum : 0.0, logarithm = sum > 0.0 ? log(sum) : 0.0;
    for (uint j = lane; j < p.count; j += stride) {
        uint i = begin + j * p.inner;
        vec4 s = p.scale * load_step(p.x, X_TYPE, i);
        store_step(p.y, X_TYPE, i, p.logarithm != 0u ? (s - maximum) - logarithm : powers(s, maximum) * factor);
    }
}
