// First part of matmul by panels: copies a [m, k], or with OF_B b [k, n], into panels [ceil(rows / LANES)][k][LANES] of
// f32, where the rows of b are its columns. k is padded with zeros to a multiple of DEPTH; what a last panel has more is
// the last row again.
//
// A workgroup, one subgroup, writes a panel; a lane reads a row, four k at a time. A gather would be slow, as compilers
// for CPUs without masked loads make it eight branches: there is a plain load for each lane (lib/cpu_simd.glsl), which
// knows no mask, so that addresses stay inside. Panels follow each other, then batches.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 8, local_size_x_id = 0) in;
#include "lib/cpu_simd.glsl"
#include "lib/matmul.glsl"
#include "params/matmul.h"
MATMUL_GEMM_CPU_PACK_CONSTANTS(VANTAGE_CONSTANT)

const uint TYPE = OF_B ? B_TYPE : A_TYPE, BYTES = TYPE == F32 ? 4u : 2u;
const bool K_INNERMOST = OF_B ? TRANSPOSE_B : !TRANSPOSE_A;

// Of each lane's row the number, the four numbers or the four halves `bytes` behind its begin.
float one(uint64_t rows[LANES], uint64_t bytes) {
    float value = ReadFloats(rows[0] + bytes).at[0];
    [[unroll]] for (uint l = 1u; l < LANES; ++l)
        value = mix(value, ReadFloats(rows[l] + bytes).at[0], lane_among[l / 4u][l % 4u]);
    return value;
}
vec4 four(uint64_t rows[LANES], uint64_t bytes) {
    vec4 value = ReadQuads(rows[0] + bytes).at[0];
    [[unroll]] for (uint l = 1u; l < LANES; ++l)
        value = mix(value, ReadQuads(rows[l] + bytes).at[0], bvec4(lane_among[l / 4u][l % 4u]));
    return value;
}
vec4 four_halves(uint64_t rows[LANES], uint64_t bytes) {
    uvec2 words = ReadPairs(rows[0] + bytes).at[0];
    [[unroll]] for (uint l = 1u; l < LANES; ++l)
        words = mix(words, ReadPairs(rows[l] + bytes).at[0], bvec2(lane_among[l / 4u][l % 4u]));
    return vec4(widen_pair(words.x, TYPE), widen_pair(words.y, TYPE));
}

// Elements i … i + LANES - 1 of quantized weights, i a multiple of LANES: they are in one block.
float lanes_of_block(uvec2 operand, uint i) {
    float value = 0.0;
    [[unroll]] for (uint l = 0u; l < LANES; l += 4u) {
        vec4 x = load_quantized4(operand, TYPE, i + l);
        [[unroll]] for (uint c = 0u; c < 4u; ++c) value = mix(value, x[c], lane_among[l / 4u][c]);
    }
    return value;
}

void main() {
    uint count = OF_B ? p.n : p.m, batch = gl_WorkGroupID.y, first = gl_WorkGroupID.x * LANES, panel_k = padded_k(DEPTH);
    uint base = OF_B ? b_base(batch) : a_base(batch), own = min(first + lane, count - 1u);
    uvec2 operand = OF_B ? p.b : p.a;
    uint64_t step = K_INNERMOST ? BYTES : uint64_t(count) * BYTES, rows[LANES];
    [[unroll]] for (uint l = 0u; l < LANES; ++l)
        rows[l] = address_of(operand, TYPE, base + uint64_t(min(first + l, count - 1u)) * (K_INNERMOST ? p.k : 1u));
    uint64_t to = address_of(p.c, F32, (uint64_t(batch) * gl_NumWorkGroups.x + gl_WorkGroupID.x) * panel_k * LANES);
    uint k = 0u;
    do {
        vec4 x;
        if (is_quantized(TYPE) && K_INNERMOST) x = load4(operand, TYPE, base + own * p.k + k);
        else if (is_quantized(TYPE)) [[unroll]] for (uint i = 0u; i < 4u; ++i) x[i] = lanes_of_block(operand, base + min(k + i, p.k - 1u) * count + first);
        else if (K_INNERMOST && STEP == 4u) {
            uint64_t bytes = uint64_t(min(k, p.k - 4u)) * BYTES;
            x = TYPE == F32 ? four(rows, bytes) : four_halves(rows, bytes);
        } else [[unroll]] for (uint i = 0u; i < 4u; ++i) {
            uint at = min(k + i, p.k - 1u);
            x[i] = TYPE == F32 ? one(rows, at * step) : load(operand, TYPE, base + (K_INNERMOST ? own * p.k + at : at * count + own));
        }
        [[unroll]] for (uint i = 0u; i < 4u; ++i) store_lanes(to, i * LANES, mix(0.0, x[i], k + i < p.k));
        to += 4u * LANES * 4u;
        k += 4u;
    } while (k < panel_k);
}
