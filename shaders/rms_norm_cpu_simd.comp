// rms_norm by rms_norm.comp's formula, a row of f32 by one subgroup and whole vectors (lib/cpu_simd.glsl), UNROLL of
// them in each turn of a loop. What is absent is read from x and left out.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 8, local_size_x_id = 0) in;
#include "params/rms_norm.h"
RMS_NORM_CPU_SIMD_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"
#include "lib/cpu_simd.glsl"
layout(push_constant) uniform Push { RmsNormParams p; };

uint64_t x, residual;
bool has_residual;

void load_round(uint at, out float s[UNROLL]) {
    [[unroll]] for (uint u = 0u; u < UNROLL; ++u)
        s[u] = load_lanes(x + at * 4u, F32, u * LANES) + mix(0.0, load_lanes(residual + at * 4u, F32, u * LANES), has_residual);
}

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    uint64_t begin = uint64_t(row) * p.cols, y = address_of(p.y, F32, begin), sum = address_of(p.sum, F32, begin);
    bool has_weight = present(p.weight), has_sum = present(p.sum);
    uint cols = p.cols;
    x = address_of(p.x, F32, begin);
    has_residual = present(p.residual);
    residual = has_residual ? address_of(p.residual, F32, begin) : x;
    uint64_t weight = has_weight ? packUint2x32(p.weight) : x;
    float s[UNROLL], squares[4] = {0.0, 0.0, 0.0, 0.0};
    uint at = 0u;
    do {
        load_round(at, s);
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) squares[u % 4u] = fma(s[u], s[u], squares[u % 4u]);
        at += UNROLL * LANES;
    } while (at < cols);
    float square = (squares[0] + squares[1]) + (squares[2] + squares[3]);
    float rstd = 1.0 / sqrt(sum_of_lanes(square) / float(p.cols) + p.eps);
    at = 0u;
    do {
        load_round(at, s);
        uint64_t w = weight + at * (WEIGHT_TYPE == F32 ? 4u : 2u);
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u)
            store_lanes(y + at * 4u, u * LANES, s[u] * rstd * mix(1.0, p.weight_offset + load_lanes(w, WEIGHT_TYPE, u * LANES), has_weight));
        if (has_sum)
            [[unroll]] for (uint u = 0u; u < UNROLL; ++u) store_lanes(sum + at * 4u, u * LANES, s[u]);
        at += UNROLL * LANES;
    } while (at < cols);
    if (lane == 0u) Floats(p.rstd).at[row] = rstd;
}
