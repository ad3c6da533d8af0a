// attention on matrix units: o_i = sum_j p_ij v_j, p_ij = exp(s_ij - lse_i), lse_i = ln sum_j exp(s_ij), s_ij = scale
// q_i k_j and the rules. q, k, v and the weights are f16, all sums, scores, maxima and denominators f32.
//
// Flash attention (attention/flash.comp) with both products by matrices of M x N x K. A workgroup takes ROWS rows of
// one key head, queries and the heads that share it, so that a tile of KEYS keys, and then of their values, is read
// once for all of them; the next one is on its way meanwhile. STRIPES subgroups along the rows keep M rows each; where
// a stripe's sums are too many for one subgroup's registers, SHARES subgroups divide its keys and features. Scores pass
// through shared memory, where a row's lanes see which keys they belong to, and go back as weights. When a row's
// maximum moves, its sums shrink: by a matrix that has the row's factor in all of its columns, since it is up to the
// device which lane holds which element. Tiles that a causal mask or a window hides from all rows are not visited.
// Values of keys beyond the last are zeros.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 128, local_size_x_id = 0) in;
#include "params/attention.h"
ATTENTION_COOPMAT_CONSTANTS(VANTAGE_CONSTANT)
const uint SCORE_STRIDE = KEYS / 4u + 1u;  // scores are f32, then weights, f16, from the beginning of each row
#include "lib/attention_matrices.glsl"

const uint OCTETS = KEYS / 8u / LANES_OF_ROW;  // of keys, of a lane

float reduced_max(float value) {
    for (uint i = 1u; i < LANES_OF_ROW; i *= 2u) value = max(value, subgroupShuffleXor(value, i));
    return value;
}
float reduced_sum(float value) {
    for (uint i = 1u; i < LANES_OF_ROW; i *= 2u) value += subgroupShuffleXor(value, i);
    return value;
}

// Turns the scores of this lane's octets of keys into weights below the row's maximum, and leaves the row's factor.
void weigh(uint first, uint sees, inout float maximum, inout float denominator) {
    uint own = lane % LANES_OF_ROW;
    vec4 s[OCTETS * 2u];
    float peak = maximum;
    int position = position_of(row);
    [[unroll]] for (uint i = 0u; i < OCTETS * 2u; ++i) {
        uint quad = (own + i / 2u * LANES_OF_ROW) * 2u + i % 2u;
        s[i] = p.scale * uintBitsToFloat(scores[row * SCORE_STRIDE + quad]);
        [[unroll]] for (uint e = 0u; e < 4u; ++e) {
            uint place = first + quad * 4u + e;
            bool seen = place < sees;
            if (RULES && seen) {
                uint key = key_at(place);
                s[i][e] = ruled_score(s[i][e], batch, sequence, head_of(row), query_of(row), position, key);
                seen = rules_allow(sequence, position, key) && !(s[i][e] <= LOWEST);  // NaN stays
            }
            if (!seen) s[i][e] = UNSEEN;
            peak = max(peak, s[i][e]);
        }
    }
    peak = reduced_max(peak);
    subgroupMemoryBarrierShared();
    subgroupBarrier();  // a row's lanes have read its scores: weights take their place
    float sum = 0.0;
    [[unroll]] for (uint o = 0u; o < OCTETS; ++o) {
        vec4 low = exp(s[2u * o] - peak), high = exp(s[2u * o + 1u] - peak);
        sum += (low.x + low.y) + (low.z + low.w) + (high.x + high.y) + (high.z + high.w);
        scores[row * SCORE_STRIDE + own + o * LANES_OF_ROW] = uvec4(to_f16x4(low), to_f16x4(high));
    }
    float shrink = exp(maximum - peak);
    denominator = denominator * shrink + reduced_sum(sum);
    maximum = peak;
    for (uint q = own; q < N / 4u; q += LANES_OF_ROW) factors[row * FACTOR_STRIDE + q] = floatBitsToUint(vec4(shrink));
}

void main() {
    if (batch >= p.batch) return;
    load_queries();
    uint sees = keys_of_row(row);
    float maximum = LOWEST, denominator = 0.0;
    [[unroll]] for (uint j = 0u; j < VALUE_MATRICES; ++j) sums[j] = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0.0);

    uint first = skip(0u, begin);
    fetch_tile(p.k, first, D, WIDTH, STEP_D);
    while (first < last) {
        put_tile(WIDTH);
        barrier();
        fetch_tile(p.v, first, DV, WIDTH_V, STEP_DV);
        coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> s[KEY_MATRICES];
        [[unroll]] for (uint j = 0u; j < KEY_MATRICES; ++j) s[j] = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0.0);
        [[dont_unroll]] for (uint d = 0u; d < WIDTH; d += K) {
            coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> q;
            coopMatLoad(q, queries, stripe * M * QUERY_STRIDE + d / 8u, QUERY_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (uint j = 0u; j < KEY_MATRICES; ++j) {
                coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> k;
                coopMatLoad(k, tile, (share * KEY_MATRICES + j) * N * TILE_STRIDE + d / 8u, TILE_STRIDE, gl_CooperativeMatrixLayoutColumnMajor);
                s[j] = coopMatMulAdd(q, k, s[j]);
            }
        }
        [[unroll]] for (uint j = 0u; j < KEY_MATRICES; ++j)
            coopMatStore(s[j], scores, stripe * M * SCORE_STRIDE + (share * KEY_MATRICES + j) * N / 4u, SCORE_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
        barrier();
        weigh(first, sees, maximum, denominator);
        put_tile(WIDTH_V);
        barrier();
        first = skip(first + KEYS, begin);
        if (first < last) fetch_tile(p.k, first, D, WIDTH, STEP_D);
        coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> factor;
        coopMatLoad(factor, factors, stripe * M * FACTOR_STRIDE, FACTOR_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint j = 0u; j < VALUE_MATRICES; ++j) sums[j] = sums[j] * factor;
        [[dont_unroll]] for (uint key = 0u; key < KEYS; key += K) {
            coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> w;
            coopMatLoad(w, scores, stripe * M * SCORE_STRIDE + key / 8u, SCORE_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (uint j = 0u; j < VALUE_MATRICES; ++j) {
                coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> v;
                coopMatLoad(v, tile, key * TILE_STRIDE + (share * VALUE_MATRICES + j) * N / 8u, TILE_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
                sums[j] = coopMatMulAdd(w, v, sums[j]);
            }
        }
        barrier();
    }
    store_rows(maximum, denominator);
}
