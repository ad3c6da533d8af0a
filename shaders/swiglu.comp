// swiglu: y = f(gate) * up, element by element, f = silu (SwiGLU) or gelu (GEGLU), see lib/activation.glsl. Without `up`
// the rows of gate are [gate | up].
//
// STEP elements per invocation; only the last may have fewer. The kind is a parameter: the branch is uniform.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/storage.glsl"
#include "lib/activation.glsl"
#include "params/swiglu.h"

layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 1) const uint X_TYPE = 0;  // gate, up, y
layout(constant_id = 2) const uint STEP = 4;    // 1 for packed rows that do not end on a step
#include "lib/index.glsl"

layout(push_constant) uniform Push { SwigluParams p; };

void main() {
    uint i = invocation_index() * STEP;
    if (i >= p.count) return;
    bool packed = !present(p.up);
    uint at = packed ? i / p.cols * 2u * p.cols + i % p.cols : i, up_at = packed ? at + p.cols : i;
    uvec2 up = packed ? p.gate : p.up;
    if (STEP == 4u && i + 4u <= p.count) {
        vec4 gate = load4(p.gate, X_TYPE, at);
        for (uint k = 0u; k < 4u; ++k) gate[k] = activate(p.kind, gate[k]);
        store4(p.y, X_TYPE, i, gate * load4(up, X_TYPE, up_at));
    } else {
        for (uint end = min(i + STEP, p.count); i < end; ++i, ++at, ++up_at)
            store(p.y, X_TYPE, i, activate(p.kind, load(p.gate, X_TYPE, at)) * load(up, X_TYPE, up_at));
    }
}
