// swiglu: y = f(gate) * (up + offset), element by element, f = silu (SwiGLU) or gelu (GEGLU), see lib/activation.glsl,
// gate and up limited first where there is a limit. Without `up` the rows of gate are [gate | up], or both interleaved.
//
// STEP elements per invocation; only the last may have fewer. The kind is a parameter: the branch is uniform.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/storage.glsl"
#include "lib/activation.glsl"
#include "params/swiglu.h"

layout(local_size_x = 256, local_size_x_id = 0) in;
SWIGLU_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"

layout(push_constant) uniform Push { SwigluParams p; };

float gated_unit(float gate, float up) {
    if (p.limit > 0.0) gate = min(gate, p.limit), up = clamp(up, -p.limit, p.limit);
    return activate(p.kind, gate) * (up + p.up_offset);
}

void main() {
    uint i = invocation_index() * STEP;
    if (i >= p.count) return;
    bool packed = !present(p.up), by_turns = p.interleaved != 0u;
    uint at = by_turns ? 2u * i : packed ? i / p.cols * 2u * p.cols + i % p.cols : i;
    uint up_at = by_turns ? at + 1u : packed ? at + p.cols : i;
    uvec2 up_address = packed ? p.gate : p.up;
    if (STEP == 4u && i + 4u <= p.count) {
        vec4 gate = load4(p.gate, X_TYPE, at), up = load4(up_address, X_TYPE, up_at);
        for (uint k = 0u; k < 4u; ++k) gate[k] = gated_unit(gate[k], up[k]);
        store4(p.y, X_TYPE, i, gate);
    } else {
        for (uint end = min(i + STEP, p.count); i < end; ++i, ++at, ++up_at)
            store(p.y, X_TYPE, i, gated_unit(load(p.gate, X_TYPE, at), load(up_address, X_TYPE, up_at)));
    }
}
