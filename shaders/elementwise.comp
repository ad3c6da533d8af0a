// add: y = a + b; mul: y = a * b; scale: y = factor * a; b repeats every b_count elements: a row, a matrix, all of a.
//
// Four elements per invocation: 16-byte accesses, and whole words of 16-bit data. Only the last invocation may have
// fewer. The kind is a parameter, not a variant: the branch is uniform and the kernel waits for memory.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
const uint STEP = 4u;
#include "lib/steps.glsl"
#include "params/elementwise.h"

layout(local_size_x = 256, local_size_x_id = 0) in;
ELEMENTWISE_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"

layout(push_constant) uniform Push { ElementwiseParams p; };

float element(uint i) {
    float a = load(p.a, A_TYPE, i);
    if (p.kind == ELEMENTWISE_SCALE) return p.factor * a;
    float b = load(p.b, B_TYPE, i % p.b_count);
    return p.kind == ELEMENTWISE_ADD ? a + b : a * b;
}

vec4 elements(uint i) {
    vec4 a = LOAD4(p.a, A_TYPE, i), b;
    if (p.kind == ELEMENTWISE_SCALE) return p.factor * a;
    if (p.b_count == p.count || p.b_count % 4u == 0u)
        b = LOAD4(p.b, B_TYPE, p.b_count == p.count ? i : i % p.b_count);
    else
        for (uint k = 0u; k < 4u; ++k) b[k] = load(p.b, B_TYPE, (i + k) % p.b_count);
    return p.kind == ELEMENTWISE_ADD ? a + b : a * b;
}

void main() {
    uint size = gl_WorkGroupSize.x * 4u, begin = workgroup_index() * UNROLL * size, own = gl_LocalInvocationID.x * 4u;
    if (begin + UNROLL * size <= p.count) {
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) STORE4(p.y, A_TYPE, begin + u * size + own, elements(begin + u * size + own));
        return;
    }
    for (uint i = begin + own; i < p.count; i += size)
        if (i + 4u <= p.count)
            STORE4(p.y, A_TYPE, i, elements(i));
        else
            for (uint k = i; k < p.count; ++k) store(p.y, A_TYPE, k, element(k));
}
