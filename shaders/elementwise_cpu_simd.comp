// add, mul and scale of f32 as elementwise.comp has them, by whole vectors (lib/cpu_simd.glsl): a workgroup, one
// subgroup, makes `chunk` elements, UNROLL vectors in each turn of its loop. b is as large as a, or repeats after a
// multiple of `chunk`; what is absent is read from a.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 8, local_size_x_id = 0) in;
#include "params/elementwise.h"
ELEMENTWISE_CPU_SIMD_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"
#include "lib/cpu_simd.glsl"
layout(push_constant) uniform Push { ElementwiseParams p; };

void main() {
    uint64_t begin = uint64_t(workgroup_index()) * p.chunk;
    if (begin >= p.count) return;
    bool scale = p.kind == ELEMENTWISE_SCALE, add = p.kind == ELEMENTWISE_ADD;
    uint64_t a = address_of(p.a, F32, begin), y = address_of(p.y, F32, begin);
    uint64_t b = scale ? a : address_of(p.b, B_TYPE, p.b_count == p.count ? begin : begin % p.b_count);
    float factor = p.factor;
    uint at = 0u, end = min(p.chunk, p.count - uint(begin));
    do {
        float result[UNROLL];
        uint64_t others = b + at * (B_TYPE == F32 ? 4u : 2u);
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) {
            float one = load_lanes(a + at * 4u, F32, u * LANES), other = mix(load_lanes(others, B_TYPE, u * LANES), factor, scale);
            result[u] = mix(one * other, one + other, add);
        }
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) store_lanes(y + at * 4u, u * LANES, result[u]);
        at += UNROLL * LANES;
    } while (at < end);
}
