// x = x factor + summand in independent chains: how many operations a second the device does when it waits for no memory.
//
// 12 chains hide the latency of most units, and with the two operands they are what 16 vector registers hold; the body is
// long because a loop itself costs a CPU device as much as several operations.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef USE_FP16
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define NUMBER float16_t
#define NUMBERS f16vec4
#else
#define NUMBER float
#define NUMBERS vec4
#endif
#include "lib/storage.glsl"
#include "params/bench.h"

layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 1) const uint SALT = 0;  // another value is another kernel: for the time that compiling takes
#include "lib/index.glsl"

layout(push_constant) uniform Push { BenchParams p; };

void main() {
    NUMBERS factor = NUMBERS(p.factor), summand = NUMBERS(p.summand);
    NUMBERS x = NUMBERS(gl_LocalInvocationID.x & 7u), y = x + NUMBER(SALT), z = x - NUMBERS(1);
    for (uint pass = 0u; pass < p.passes; ++pass) {
        [[unroll]] for (uint k = 0u; k < 20u; ++k) {
            x = fma(x, factor, summand);
            y = fma(y, factor, summand);
            z = fma(z, factor, summand);
        }
    }
    NUMBERS sum = x + y + z;
    Floats(p.y).at[invocation_index()] = float(sum.x + sum.y + sum.z + sum.w);
}
