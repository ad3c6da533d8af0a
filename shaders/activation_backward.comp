// activation_backward: dx = dy f'(x), element by element. Four elements per invocation; only the last may have fewer.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/storage.glsl"
#include "lib/activation_slope.glsl"

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/activation_backward.h"
ACTIVATION_BACKWARD_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"

layout(push_constant) uniform Push { ActivationBackwardParams p; };

void main() {
    uint i = invocation_index() * 4u;
    if (i + 4u <= p.count) {
        vec4 x = load4(p.x, X_TYPE, i), dx = load4(p.dy, DY_TYPE, i);
        for (uint k = 0u; k < 4u; ++k) dx[k] *= activation_slope(p.kind, x[k], p.parameter);
        store4(p.dx, DY_TYPE, i, dx);
    } else {
        for (; i < p.count; ++i)
            store(p.dx, DY_TYPE, i, load(p.dy, DY_TYPE, i) * activation_slope(p.kind, load(p.x, X_TYPE, i), p.parameter));
    }
}
