// swiglu_backward: dgate = dy (up + offset) f'(gate), dup = dy f(gate), 0 where gate or up was limited; in swiglu's
// layouts. STEP elements per invocation; only the last may have fewer.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/storage.glsl"
#include "lib/activation_slope.glsl"
#include "params/swiglu_backward.h"

layout(local_size_x = 256, local_size_x_id = 0) in;
SWIGLU_BACKWARD_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"

layout(push_constant) uniform Push { SwigluBackwardParams p; };

// (dgate, dup) of an element.
vec2 gradients(float raw_gate, float raw_up, float dy) {
    bool limited = p.limit > 0.0;
    float gate = limited ? min(raw_gate, p.limit) : raw_gate, up = limited ? clamp(raw_up, -p.limit, p.limit) : raw_up;
    return vec2(limited && raw_gate > p.limit ? 0.0 : dy * (up + p.up_offset) * activation_slope(p.kind, gate, 1.0),
                limited && abs(raw_up) > p.limit ? 0.0 : dy * activate(p.kind, gate));
}

void main() {
    uint i = invocation_index() * STEP;
    if (i >= p.count) return;
    bool packed = !present(p.up), by_turns = p.interleaved != 0u;
    uint at = by_turns ? 2u * i : packed ? i / p.cols * 2u * p.cols + i % p.cols : i;
    uint up_at = by_turns ? at + 1u : packed ? at + p.cols : i;
    uvec2 up_address = packed ? p.gate : p.up, dup = packed ? p.dgate : p.dup;
    if (STEP == 4u && i + 4u <= p.count) {
        vec4 gate = load4(p.gate, X_TYPE, at), up = load4(up_address, X_TYPE, up_at), dy = load4(p.dy, X_TYPE, i);
        for (uint k = 0u; k < 4u; ++k) {
            vec2 g = gradients(gate[k], up[k], dy[k]);
            gate[k] = g.x, up[k] = g.y;
        }
        store4(p.dgate, X_TYPE, at, gate);
        store4(dup, X_TYPE, up_at, up);
    } else {
        for (uint end = min(i + STEP, p.count); i < end; ++i, ++at, ++up_at) {
            vec2 g = gradients(load(p.gate, X_TYPE, at), load(up_address, X_TYPE, up_at), load(p.dy, X_TYPE, i));
            store(p.dgate, X_TYPE, at, g.x);
            store(dup, X_TYPE, up_at, g.y);
        }
    }
}
