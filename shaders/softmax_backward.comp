// softmax_backward, over an axis, from results y:
//   softmax      dx = scale y (dy - sum y dy)
//   log_softmax  dx = scale (dy - exp(y) sum dy)
//   sparsemax    dx = dy - mean of dy over the support, on the support (y > 0), else 0
// One workgroup per row.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/softmax_backward.h"
SOFTMAX_BACKWARD_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/storage.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"

layout(push_constant) uniform Push { SoftmaxBackwardParams p; };

// What an element's gradient counts in the sum.
float share(float y) {
    if (p.kind == BACKWARD_SOFTMAX) return y;
    return p.kind == BACKWARD_LOG_SOFTMAX || y > 0.0 ? 1.0 : 0.0;
}

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    uint begin = row / p.inner * p.count * p.inner + row % p.inner;
    float total = 0.0, support = 0.0;
    for (uint i = LANE; i < p.count; i += gl_WorkGroupSize.x) {
        float weight = share(load(p.y, Y_TYPE, begin + i * p.inner));
        if (weight != 0.0) total += weight * load(p.dy, DY_TYPE, begin + i * p.inner);
        support += weight;
    }
    total = workgroup_sum(total);
    if (p.kind == BACKWARD_SPARSEMAX) total /= workgroup_sum(support);
    for (uint i = LANE; i < p.count; i += gl_WorkGroupSize.x) {
        uint at = begin + i * p.inner;
        float y = load(p.y, Y_TYPE, at), dy = load(p.dy, DY_TYPE, at), dx;
        if (p.kind == BACKWARD_LOG_SOFTMAX)
            dx = dy - exp(y) * total;
        else
            dx = y > 0.0 ? (p.kind == BACKWARD_SOFTMAX ? y : 1.0) * (dy - total) : 0.0;
        store(p.dx, DY_TYPE, at, p.scale * dx);
    }
}
