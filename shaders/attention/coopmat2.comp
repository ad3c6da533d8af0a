// attention on matrix units that also compute with single elements, reduce rows and convert
// (GL_NV_cooperative_matrix2): as attention/coopmat.comp, but scores never leave the registers.
//
// Rules are applied to elements, which know their row and column; a row's maximum and denominator are matrices whose
// columns are all the same, made by reductions and meeting scores and sums element by element. Weights become an
// operand by a conversion: this requires N = K. A tile of which all rows see all keys is only scaled.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_NV_cooperative_matrix2 : require
layout(local_size_x = 128, local_size_x_id = 0) in;
#include "params/attention.h"
ATTENTION_COOPMAT2_CONSTANTS(VANTAGE_CONSTANT)
const uint SHARES = 1u, SCORE_STRIDE = N / 4u + 1u;
#include "lib/attention_matrices.glsl"

shared uint keys_of_rows[ROWS];

float greater(const in float a, const in float b) { return max(a, b); }
float total(const in float a, const in float b) { return a + b; }
float greater_element(const in uint r, const in uint c, const in float a, const in float b) { return max(a, b); }
float below(const in uint r, const in uint c, const in float a, const in float peak) { return exp(a - peak); }

// The score of a row of this stripe and column c of the matrix of keys from `first` on.
float score(const in uint r, const in uint c, const in float product, const in uint first) {
    uint own = stripe * M + r, place = first + c;
    float s = p.scale * product;
    bool seen = place < keys_of_rows[own];
    if (RULES && seen) {
        int position = position_of(own);
        uint key = key_at(place);
        s = ruled_score(s, batch, sequence, head_of(own), query_of(own), position, key);
        seen = rules_allow(sequence, position, key) && !(s <= LOWEST);  // NaN stays
    }
    return seen ? s : UNSEEN;
}

void main() {
    if (batch >= p.batch) return;
    load_queries();
    for (uint r = lane; r < ROWS; r += LANES) keys_of_rows[r] = keys_of_row(r);
    uint all_see = RULES ? 0u : visible(0u, rows_valid, keys_valid);  // the first row sees the fewest keys
    coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> maximum, denominator, peak, part;
    maximum = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(LOWEST);
    denominator = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0.0);
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
                coopMatLoad(k, tile, j * N * TILE_STRIDE + d / 8u, TILE_STRIDE, gl_CooperativeMatrixLayoutColumnMajor);
                s[j] = coopMatMulAdd(q, k, s[j]);
            }
        }
        peak = maximum;
        [[unroll]] for (uint j = 0u; j < KEY_MATRICES; ++j) {
            if (first + KEYS <= all_see)
                s[j] = s[j] * p.scale;
            else
                coopMatPerElementNV(s[j], s[j], score, first + j * N);
            coopMatPerElementNV(peak, peak, greater_element, s[j]);
        }
        coopMatReduceNV(part, peak, gl_CooperativeMatrixReduceRowNV, greater);
        peak = part;
        coopMatPerElementNV(maximum, maximum, below, peak);  // now the factor by which what was summed shrinks
        denominator = denominator * maximum;
        [[unroll]] for (uint j = 0u; j < VALUE_MATRICES; ++j) sums[j] = sums[j] * maximum;
        maximum = peak;
        peak = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0.0);
        [[unroll]] for (uint j = 0u; j < KEY_MATRICES; ++j) {
            coopMatPerElementNV(s[j], s[j], below, maximum);
            peak = peak + s[j];
        }
        coopMatReduceNV(part, peak, gl_CooperativeMatrixReduceRowNV, total);
        denominator = denominator + part;
        barrier();  // all have read the keys
        put_tile(WIDTH_V);
        barrier();
        first = skip(first + KEYS, begin);
        if (first < last) fetch_tile(p.k, first, D, WIDTH, STEP_D);
        [[unroll]] for (uint i = 0u; i < KEY_MATRICES; ++i) {
            coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> w = coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA>(s[i]);
            [[unroll]] for (uint j = 0u; j < VALUE_MATRICES; ++j) {
                coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> v;
                coopMatLoad(v, tile, i * K * TILE_STRIDE + j * N / 8u, TILE_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
                sums[j] = coopMatMulAdd(w, v, sums[j]);
            }
        }
        barrier();
    }
    // A row's lanes want its maximum and denominator: by way of shared memory.
    uint staged = stripe * M * SCORE_STRIDE;
    coopMatStore(maximum, factors, stripe * M * FACTOR_STRIDE, FACTOR_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(denominator, scores, staged, SCORE_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    float highest = uintBitsToFloat(factors[row * FACTOR_STRIDE].x), weights = uintBitsToFloat(scores[row * SCORE_STRIDE].x);
    barrier();
    bool is_there = row < real;  // where all rows see a tile, those behind the last one have scores as well
    store_rows(is_there ? highest : LOWEST, is_there ? weights : 0.0);
}
