// softmax by softmax.comp's formula over rows of f32 that lie together: a row by one subgroup and whole vectors
// (lib/cpu_simd.glsl), UNROLL of them in each turn of a loop.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 8, local_size_x_id = 0) in;
#include "params/softmax.h"
SOFTMAX_CPU_SIMD_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"
#include "lib/cpu_simd.glsl"
layout(push_constant) uniform Push { SoftmaxParams p; };

const float lowest = -3.4028234e38;

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    uint64_t x = address_of(p.x, F32, uint64_t(row) * p.count), y = address_of(p.y, F32, uint64_t(row) * p.count);
    float maxima[4] = {lowest, lowest, lowest, lowest}, totals[4] = {0.0, 0.0, 0.0, 0.0};
    uint at = 0u, count = p.count;
    float scale = p.scale;
    do {
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) maxima[u % 4u] = max(maxima[u % 4u], scale * load_lanes(x + at * 4u, F32, u * LANES));
        at += UNROLL * LANES;
    } while (at < count);
    float maximum = max_of_lanes(max(max(maxima[0], maxima[1]), max(maxima[2], maxima[3])));
    at = 0u;
    do {
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u)
            totals[u % 4u] += power_of_2((scale * load_lanes(x + at * 4u, F32, u * LANES) - maximum) * log2_e);
        at += UNROLL * LANES;
    } while (at < count);
    float sum = sum_of_lanes((totals[0] + totals[1]) + (totals[2] + totals[3]));
    float factor = sum > 0.0 ? 1.0 / sum : 0.0, logarithm = sum > 0.0 ? log(sum) : 0.0;
    at = 0u;
    do {
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) {
            float s = scale * load_lanes(x + at * 4u, F32, u * LANES) - maximum;
            store_lanes(y + at * 4u, u * LANES, LOGARITHM ? s - logarithm : power_of_2(s * log2_e) * factor);
        }
        at += UNROLL * LANES;
    } while (at < count);
}
