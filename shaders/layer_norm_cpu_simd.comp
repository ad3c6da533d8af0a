// layer_norm by layer_norm.comp's formula, a row of f32 by one subgroup and whole vectors (lib/cpu_simd.glsl), UNROLL
// of them in each turn of a loop. What is absent is read from x and left out.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 8, local_size_x_id = 0) in;
#include "params/layer_norm.h"
LAYER_NORM_CPU_SIMD_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"
#include "lib/cpu_simd.glsl"
layout(push_constant) uniform Push { LayerNormParams p; };

uint64_t x, residual;
bool has_residual;

void load_round(uint at, float shift, out float s[UNROLL]) {
    [[unroll]] for (uint u = 0u; u < UNROLL; ++u)
        s[u] = load_lanes(x + at * 4u, F32, u * LANES) + mix(0.0, load_lanes(residual + at * 4u, F32, u * LANES), has_residual) - shift;
}

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    uint64_t begin = uint64_t(row) * p.cols, y = address_of(p.y, F32, begin), sum = address_of(p.sum, F32, begin);
    bool has_gamma = present(p.gamma), has_beta = present(p.beta), has_sum = present(p.sum);
    uint cols = p.cols;
    x = address_of(p.x, F32, begin);
    has_residual = present(p.residual);
    residual = has_residual ? address_of(p.residual, F32, begin) : x;
    uint64_t gamma = has_gamma ? packUint2x32(p.gamma) : x, beta = has_beta ? packUint2x32(p.beta) : x;
    float shift = ReadFloats(x).at[0] + mix(0.0, ReadFloats(residual).at[0], has_residual);
    float s[UNROLL], totals[4] = {0.0, 0.0, 0.0, 0.0}, squares[4] = totals;
    uint at = 0u;
    do {
        load_round(at, shift, s);
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) totals[u % 4u] += s[u];
        at += UNROLL * LANES;
    } while (at < cols);
    float shifted_mean = sum_of_lanes((totals[0] + totals[1]) + (totals[2] + totals[3])) / float(p.cols);
    at = 0u;
    do {
        load_round(at, shift, s);
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) {
            float deviation = s[u] - shifted_mean;
            squares[u % 4u] = fma(deviation, deviation, squares[u % 4u]);
        }
        at += UNROLL * LANES;
    } while (at < cols);
    float rstd = 1.0 / sqrt(sum_of_lanes((squares[0] + squares[1]) + (squares[2] + squares[3])) / float(p.cols) + p.eps);
    at = 0u;
    do {
        load_round(at, shift, s);
        uint64_t g = gamma + at * (GAMMA_TYPE == F32 ? 4u : 2u), b = beta + at * (BETA_TYPE == F32 ? 4u : 2u);
        [[unroll]] for (uint u = 0u; u < UNROLL; ++u) {
            float scaled = (s[u] - shifted_mean) * rstd * mix(1.0, load_lanes(g, GAMMA_TYPE, u * LANES), has_gamma);
            store_lanes(y + at * 4u, u * LANES, scaled + mix(0.0, load_lanes(b, BETA_TYPE, u * LANES), has_beta));
        }
        if (has_sum) {
            load_round(at, 0.0, s);  // s less shift and more is not s
            [[unroll]] for (uint u = 0u; u < UNROLL; ++u) store_lanes(sum + at * 4u, u * LANES, s[u]);
        }
        at += UNROLL * LANES;
    } while (at < cols);
    if (lane == 0u) {
        Floats(p.mean).at[row] = shift + shifted_mean;
        Floats(p.rstd).at[row] = rstd;
    }
}
