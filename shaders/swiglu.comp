// swiglu: y = f(gate) * up, element by element, f = silu (SwiGLU) or gelu (GEGLU), see lib/activation.glsl.
//
// Four elements per invocation; only the last may have fewer. The kind is a parameter: the branch is uniform.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/storage.glsl"
#include "lib/activation.glsl"
#include "params/swiglu.h"

layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 1) const uint X_TYPE = 0;  // gate, up, y
#include "lib/index.glsl"

layout(push_constant) uniform Push { SwigluParams p; };

void main() {
    uint i = invocation_index() * 4u;
    if (i + 4u <= p.count) {
        vec4 gate = load4(p.gate, X_TYPE, i);
        for (uint k = 0u; k < 4u; ++k) gate[k] = activate(p.kind, gate[k]);
        store4(p.y, X_TYPE, i, gate * load4(p.up, X_TYPE, i));
    } else {
        for (; i < p.count; ++i)
            store(p.y, X_TYPE, i, activate(p.kind, load(p.gate, X_TYPE, i)) * load(p.up, X_TYPE, i));
    }
}
