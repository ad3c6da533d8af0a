// matmul for few rows on devices whose lanes are those of a CPU's vectors, b stored as [n, k]:
//   c[row, col] = activation(alpha sum_k a[row, k] b[col, k] + bias[col]) + beta residual[row, col].
//
// Bound by reading b once. A workgroup, one subgroup, walks along COLS rows of b at a time, a round of 8 k for each
// lane in each turn; which k a lane has depends on how the type lies in memory, so that b is read by whole vectors
// (lib/cpu_simd.glsl). What a lane needs of a for that is loaded once for all columns. In the end a butterfly of
// exchanges leaves each lane with the whole sum of one cell.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 8, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/cpu_simd.glsl"
#include "lib/matmul.glsl"
#include "params/matmul.h"
MATMUL_GEMV_CPU_CONSTANTS(VANTAGE_CONSTANT)
const uint CELLS = ROWS * COLS, EACH = 8u, ROUND = EACH * LANES;  // quantised: LANES = 8, a round is two blocks

uint64_t bytes_of(uint type, uint i) {  // before element i; of quantised types before the quants of its block
    if (is_quantized(type)) return uint64_t(block_at(type, i)) * 4u;
    return uint64_t(i) * (type == F32 ? 4u : 2u);
}

// The k, counted from the round's first, of a lane's element i.
uint own_k(uint i) {
    if (B_TYPE == Q8) return i / 4u * QUANT_BLOCK + lane * 4u + i % 4u;
    if (B_TYPE == Q4) return lane / 4u * QUANT_BLOCK + lane % 4u * 4u + i / 4u * 16u + i % 4u;
    if (B_TYPE != F32) return i / 2u * 2u * LANES + lane * 2u + i % 2u;
    return i * LANES + lane;
}

// This lane's elements of a round of a, which begins at `address`, and of b.
void load_a(uint64_t address, out float x[EACH]) {
    [[unroll]] for (uint i = 0u; i < EACH; ++i)
        if (A_TYPE == F32 && B_TYPE == F32)
            x[i] = load_lanes(address, F32, i * LANES);
        else
            x[i] = load(unpackUint2x32(address), A_TYPE, own_k(i));
}
// `scale` is that of elements 0 to 3 and of 4 to 7, where quants are all that has been loaded.
void load_b(uint64_t address, uint64_t scales, out float x[EACH], out vec2 scale) {
    scale = vec2(1.0);
    if (is_quantized(B_TYPE)) scale = unpackHalf2x16(ReadWords(scales).at[0]);  // of the two blocks
    if (B_TYPE == Q4) scale = vec2(mix(scale.x, scale.y, lane >= 4u));
    [[unroll]] for (uint i = 0u; i < EACH; ++i) {
        if (B_TYPE == F32) x[i] = load_lanes(address, F32, i * LANES);
        if ((B_TYPE == F16 || B_TYPE == BF16) && i % 2u == 0u) {
            vec2 pair = widen_pair(floatBitsToUint(load_lane_words(address, i / 2u * LANES)), B_TYPE);
            x[i] = pair.x, x[i + 1u] = pair.y;
        }
        if (is_quantized(B_TYPE) && i % 4u == 0u) {
            uint word = floatBitsToUint(load_lane_words(address, B_TYPE == Q8 ? i / 4u * LANES : 0u));
            vec4 quants = B_TYPE == Q8 ? quants_of_signed_bytes(word) : i == 0u ? quants_of_low_halves(word, 8.0) : quants_of_high_halves(word, 8.0);
            [[unroll]] for (uint e = 0u; e < 4u; ++e) x[i + e] = quants[e];
        }
    }
}

float chain(float x[EACH], float y[EACH], uint i, float sum) {
    return fma(x[i + 3u], y[i + 3u], fma(x[i + 2u], y[i + 2u], fma(x[i + 1u], y[i + 1u], fma(x[i], y[i], sum))));
}

void main() {
    uint col0 = workgroup_index() * COLS, row0 = gl_WorkGroupID.z * ROWS;
    if (col0 >= p.n) return;
    uint64_t a[ROWS], b[COLS];
    [[unroll]] for (uint r = 0u; r < ROWS; ++r) a[r] = address_of(p.a, A_TYPE, uint64_t(min(row0 + r, p.m - 1u)) * p.k);
    [[unroll]] for (uint c = 0u; c < COLS; ++c) b[c] = packUint2x32(p.b) + min(col0 + c, p.n - 1u) * bytes_of(B_TYPE, p.k);
    float sums[CELLS];
    [[unroll]] for (uint cell = 0u; cell < CELLS; ++cell) sums[cell] = 0.0;
    uint k = 0u;
    do {
        float x[ROWS][EACH], y[EACH];
        vec2 scale;
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) load_a(a[r] + bytes_of(A_TYPE, k), x[r]);
        [[unroll]] for (uint c = 0u; c < COLS; ++c) {
            load_b(b[c] + bytes_of(B_TYPE, k), b[c] + uint64_t(scale_word(B_TYPE, k)) * 4u, y, scale);
            [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
                float sum = sums[r * COLS + c];
                if (is_quantized(B_TYPE))
                    sum = fma(scale.y, chain(x[r], y, 4u, 0.0), fma(scale.x, chain(x[r], y, 0u, 0.0), sum));
                else
                    sum = chain(x[r], y, 4u, chain(x[r], y, 0u, sum));
                sums[r * COLS + c] = sum;
            }
        }
        k += ROUND;
    } while (k < p.k);
    [[unroll]] for (uint first = 0u; first < CELLS; first += LANES) {
        float parts[LANES];
        [[unroll]] for (uint l = 0u; l < LANES; ++l) parts[l] = sums[first + l];
        float sum = whole_sum(parts);
        uint row = row0 + (first + lane) / COLS, col = col0 + (first + lane) % COLS;
        if (row < p.m && col < p.n) store(p.c, A_TYPE, row * p.n + col, epilogue(sum, 0u, row, col));
    }
}
