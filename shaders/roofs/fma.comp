// x = x factor + summand in independent chains: how many operations a second the device does when it waits for no
// memory.
//
// 12 chains hide the latency of most units, and with the two operands they are what 16 vector registers hold. They
// begin apart, or a compiler finds that they are all the same. The body is long because a loop costs a CPU device a
// load and a store of every chain, and spelt out because not every compiler unrolls it.
#version 460
#extension GL_GOOGLE_include_directive : require
#ifdef USE_FP16
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define NUMBERS f16vec4
#else
#define NUMBERS vec4
#endif
#include "lib/storage.glsl"
#include "params/bench.h"

layout(local_size_x = 256, local_size_x_id = 0) in;
BENCH_FMA_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"

layout(push_constant) uniform Push { BenchParams p; };

#define TURN x = fma(x, factor, summand), y = fma(y, factor, summand), z = fma(z, factor, summand);
#define TURNS5 TURN TURN TURN TURN TURN

void main() {
    NUMBERS factor = NUMBERS(p.factor), summand = NUMBERS(p.summand);
    vec4 begin = float(gl_LocalInvocationID.x) * 0.001 + vec4(0.1, 0.2, 0.3, 0.4 + 0.001 * float(SALT & 255u));
    NUMBERS x = NUMBERS(begin), y = NUMBERS(2.0 * begin), z = NUMBERS(3.0 * begin);
    for (uint pass = 0u; pass < p.passes; ++pass) {
        TURNS5 TURNS5 TURNS5 TURNS5
    }
    NUMBERS sum = x + y + z;
    Floats(p.y).at[invocation_index()] = float(sum.x + sum.y + sum.z + sum.w);
}
