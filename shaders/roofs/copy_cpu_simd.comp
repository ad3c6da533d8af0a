// The same as copy.comp by whole vectors (lib/cpu_simd.glsl), for CPU devices: a workgroup, one subgroup, takes 4 EACH
// of them.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 8, local_size_x_id = 0) in;
#include "params/bench.h"
BENCH_COPY_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"
#include "lib/cpu_simd.glsl"
layout(push_constant) uniform Push { BenchParams p; };

void main() {
    uint64_t first = uint64_t(workgroup_index() % p.chunks) * (4u * EACH * LANES);
    uint64_t x = address_of(p.x, F32, first), y = address_of(p.y, F32, first);
    float sums[4] = {0.0, 0.0, 0.0, 0.0};
    [[unroll]] for (uint k = 0u; k < 4u * EACH; ++k) {
        float value = load_lanes(x, F32, k * LANES);
        if (WRITES)
            store_lanes(y, k * LANES, value);
        else
            sums[k % 4u] += value;
    }
    float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    if (!WRITES && sum < p.factor) store_lanes(y, 0u, sum);  // never so
}
