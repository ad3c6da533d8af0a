// x = x · factor + summand, dot products of four signed bytes, in independent chains: as fma.comp, for 8-bit integers.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_integer_dot_product : require
#extension GL_EXT_shader_explicit_arithmetic_types_int32 : require
#include "lib/storage.glsl"
#include "params/bench.h"

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "lib/index.glsl"

layout(push_constant) uniform Push { BenchParams p; };

void main() {
    int factor = floatBitsToInt(p.factor), x[8];
    [[unroll]] for (int i = 0; i < 8; ++i) x[i] = int(gl_LocalInvocationID.x) * 0x01030507 + i;
    for (uint pass = 0u; pass < p.passes; ++pass) {
        [[unroll]] for (uint k = 0u; k < 20u; ++k)
            [[unroll]] for (int i = 0; i < 8; ++i) x[i] += dotPacked4x8EXT(x[i], factor);
    }
    int sum = 0;
    [[unroll]] for (int i = 0; i < 8; ++i) sum += x[i];
    Floats(p.y).at[invocation_index()] = float(sum);
}
