// entropy_backward: dp = -dh (ln p + 1) of h = -sum p ln p over rows; 0 where p is 0. One invocation per element.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/entropy.h"
ENTROPY_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"
#include "lib/storage.glsl"

layout(push_constant) uniform Push { EntropyBackwardParams p; };

void main() {
    uint i = invocation_index();
    if (i >= p.count) return;
    float value = load(p.p, X_TYPE, i);
    store(p.dp, X_TYPE, i, value > 0.0 ? -ReadFloats(p.dh).at[i / p.cols] * (log(value) + 1.0) : 0.0);
}
