// activation: y = f(x), element by element; the formulas are in lib/activation.glsl.
//
// Four elements per invocation; only the last may have fewer. The kind is a parameter: the branch is uniform.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/storage.glsl"
#include "lib/activation.glsl"

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/activation.h"
ACTIVATION_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"

layout(push_constant) uniform Push { ActivationParams p; };

void main() {
    uint i = invocation_index() * 4u;
    if (i + 4u <= p.count) {
        vec4 x = load4(p.x, X_TYPE, i), y;
        for (uint k = 0u; k < 4u; ++k) y[k] = activate(p.kind, x[k], p.parameter);
        store4(p.y, X_TYPE, i, y);
    } else {
        for (; i < p.count; ++i) store(p.y, X_TYPE, i, activate(p.kind, load(p.x, X_TYPE, i), p.parameter));
    }
}
