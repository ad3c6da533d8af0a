// The tiles of lib/attention_tiles.glsl on matrix units, for attention/backward_coopmat.comp: operands are rounded to f16,
// all sums are f32.
//
// A device multiplies matrices of M x N x K at once. Of the TILE x TILE products, and of the TILE x width sums, each of
// the SUBGROUPS subgroups has some. Operands go through shared memory in slices of SLICE features or of SLICE met rows.
// Products come back to the lanes through `pairs`, because it is up to the device which lane holds which element: a lane
// has the same 16 pairs as without matrices. 32 KiB of shared memory with slices of 16, 36 KiB with slices of 32.
//
// The including kernel declares the constants and what lib/attention_tiles.glsl asks for.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#include "lib/fp16.glsl"

const uint TILE = 64u, SIDE = 16u, LANES = 256u;
const uint PAIR_LINE = TILE / 4u + 1u;    // vectors of 16 bytes, odd: neighbouring rows begin in different banks
const uint FACTOR_LINE = TILE / 8u + 1u, LINE = SLICE / 8u + 1u;
const uint WIDTH = ((D > DV ? D : DV) + N - 1u) / N * N, MET_LINE = WIDTH / 8u + 1u;
const uint OWN_MET = 2u * TILE * LINE, MET = SLICE * MET_LINE;
shared uvec4 lines[OWN_MET > MET ? OWN_MET : MET];  // slices of own and of met rows; or SLICE met rows
shared vec4 pairs[TILE * PAIR_LINE];                // a number for each pair, by own row
shared uvec4 factors[TILE * FACTOR_LINE];           // the same in f16: what met rows are multiplied by

const uint ROWS_OF_TILE = TILE / M, COLUMNS_OF_TILE = TILE / N;  // in matrices
const uint PRODUCT_MATRICES = ROWS_OF_TILE * COLUMNS_OF_TILE / SUBGROUPS;  // of a subgroup, along rows
const uint A_LOADED = PRODUCT_MATRICES < COLUMNS_OF_TILE ? PRODUCT_MATRICES : COLUMNS_OF_TILE;  // products with one of A
const uint SUM_MATRICES = (ROWS_OF_TILE * (WIDTH / N) + SUBGROUPS - 1u) / SUBGROUPS;
const uint FETCH = 2u * TILE * (SLICE / 8u) / LANES;

uint lane = gl_LocalInvocationID.x, lane_x = lane % SIDE, lane_y = lane / SIDE;
vec4 products[4];  // [r][c] of own row 4 lane_y + r and met row 4 lane_x + c

uint step_of(uint width) { return width % 8u == 0u ? 8u : 1u; }

// A lane's own pairs. Those of other lanes are there after a barrier.
void put_pairs(vec4 rows[4]) {
    [[unroll]] for (uint r = 0u; r < 4u; ++r) pairs[(4u * lane_y + r) * PAIR_LINE + lane_x] = rows[r];
}
void get_pairs(out vec4 rows[4]) {
    [[unroll]] for (uint r = 0u; r < 4u; ++r) rows[r] = pairs[(4u * lane_y + r) * PAIR_LINE + lane_x];
}
void put_factors(vec4 rows[4]) {
    [[unroll]] for (uint r = 0u; r < 4u; ++r) {
        uint at = (4u * lane_y + r) * FACTOR_LINE + lane_x / 2u;
        uvec2 four = to_f16x4(rows[r]);
        if (lane_x % 2u == 0u) factors[at].xy = four;
        else factors[at].zw = four;
    }
}

// Vector `i` of the slice from feature `d` on: own rows, then met ones.
uvec4 fetch(uvec2 own, uvec2 others, uint met, uint width, uint d, uint i) {
    uint line = i / (SLICE / 8u), at = d + i % (SLICE / 8u) * 8u;
    if (at >= width) return uvec4(0u);
    if (line < TILE) return load_line(row_address(own, OWN_TYPE, own_row(line), width), OWN_TYPE, 0u, at, width, step_of(width));
    return load_line(row_address(others, MET_TYPE, met_row(met + line - TILE), width), MET_TYPE, 0u, at, width, step_of(width));
}

// Products of the own rows of `own` and those of `others` at the places from `met` on; both are `width` wide.
void multiply(uvec2 own, uvec2 others, uint met, uint width) {
    coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> made[PRODUCT_MATRICES];
    [[unroll]] for (uint i = 0u; i < PRODUCT_MATRICES; ++i) made[i] = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0.0);
    uvec4 next[FETCH];
    [[unroll]] for (uint f = 0u; f < FETCH; ++f) next[f] = fetch(own, others, met, width, 0u, lane + f * LANES);
    uint first_matrix = gl_SubgroupID * PRODUCT_MATRICES;
    for (uint d = 0u; d < width; d += SLICE) {
        barrier();
        [[unroll]] for (uint f = 0u; f < FETCH; ++f) {
            uint i = lane + f * LANES;
            lines[i / (SLICE / 8u) * LINE + i % (SLICE / 8u)] = next[f];
        }
        barrier();
        // on its way while this slice is multiplied
        [[unroll]] for (uint f = 0u; f < FETCH; ++f) next[f] = fetch(own, others, met, width, d + SLICE, lane + f * LANES);
        [[unroll]] for (uint k = 0u; k < SLICE; k += K) {
            coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> a;
            [[unroll]] for (uint i = 0u; i < PRODUCT_MATRICES; ++i) {
                uint row = (first_matrix + i) / COLUMNS_OF_TILE * M, column = (first_matrix + i) % COLUMNS_OF_TILE * N;
                if (i % A_LOADED == 0u) coopMatLoad(a, lines, row * LINE + k / 8u, LINE, gl_CooperativeMatrixLayoutRowMajor);
                coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> b;
                coopMatLoad(b, lines, (TILE + column) * LINE + k / 8u, LINE, gl_CooperativeMatrixLayoutColumnMajor);
                made[i] = coopMatMulAdd(a, b, made[i]);
            }
        }
    }
    [[unroll]] for (uint i = 0u; i < PRODUCT_MATRICES; ++i) {
        uint row = (first_matrix + i) / COLUMNS_OF_TILE * M, column = (first_matrix + i) % COLUMNS_OF_TILE * N;
        coopMatStore(made[i], pairs, row * PAIR_LINE + column / 4u, PAIR_LINE, gl_CooperativeMatrixLayoutRowMajor);
    }
    barrier();
    get_pairs(products);
}

// The next matrices of those of all rows and features, column by column. No struct: Intel's compiler (Mesa 26.2) crashed
// on one that has matrices.
#define SUMS(name) coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> name[SUM_MATRICES]
// Sums one after the other with the same column of B.
const uint B_LOADED = ROWS_OF_TILE % SUM_MATRICES == 0u ? SUM_MATRICES : SUM_MATRICES % ROWS_OF_TILE == 0u ? ROWS_OF_TILE : 1u;
void clear(out SUMS(sums)) {
    [[unroll]] for (uint i = 0u; i < SUM_MATRICES; ++i) sums[i] = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0.0);
}
uint row_of_sums(uint i) { return (gl_SubgroupID * SUM_MATRICES + i) % ROWS_OF_TILE * M; }
uint column_of_sums(uint i) { return (gl_SubgroupID * SUM_MATRICES + i) / ROWS_OF_TILE * N; }

// Adds up `factors` times the rows of `others` at the places from `met` on.
void add_pairs(inout SUMS(sums), uvec2 others, uint met, uint width) {
    uint columns = (width + N - 1u) / N * N, octets = columns / 8u;
    for (uint t = 0u; t < TILE; t += SLICE) {
        barrier();
        for (uint i = lane; i < SLICE * octets; i += LANES) {
            uint row = met_row(met + t + i / octets), at = i % octets * 8u;
            lines[i / octets * MET_LINE + i % octets] = load_line(row_address(others, MET_TYPE, row, width), MET_TYPE, 0u, at, width, step_of(width));
        }
        barrier();
        [[unroll]] for (uint k = 0u; k < SLICE; k += K) {
            coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> b;
            [[unroll]] for (uint i = 0u; i < SUM_MATRICES; ++i) {
                if (column_of_sums(i) >= columns) continue;
                if (i % B_LOADED == 0u) coopMatLoad(b, lines, k * MET_LINE + column_of_sums(i) / 8u, MET_LINE, gl_CooperativeMatrixLayoutRowMajor);
                coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> a;
                coopMatLoad(a, factors, row_of_sums(i) * FACTOR_LINE + (t + k) / 8u, FACTOR_LINE, gl_CooperativeMatrixLayoutRowMajor);
                sums[i] = coopMatMulAdd(a, b, sums[i]);
            }
        }
    }
}

// `factor` times the sums of the first `rows` own rows, as rows of `to`: TILE features at a time.
void store_all(SUMS(sums), uint rows, uvec2 to, uint width, float factor) {
    for (uint first = 0u; first < width; first += TILE) {
        barrier();
        [[unroll]] for (uint i = 0u; i < SUM_MATRICES; ++i) {
            uint column = column_of_sums(i);
            if (column >= first && column < min(width, first + TILE))
                coopMatStore(sums[i], pairs, row_of_sums(i) * PAIR_LINE + (column - first) / 4u, PAIR_LINE, gl_CooperativeMatrixLayoutRowMajor);
        }
        barrier();
        for (uint i = lane; i < TILE * (TILE / 4u); i += LANES) {
            uint line = i / (TILE / 4u), at = first + i % (TILE / 4u) * 4u;
            if (line < rows && at < width)
                store4(row_address(to, OWN_TYPE, own_row(line), width), OWN_TYPE, at, factor * pairs[line * PAIR_LINE + i % (TILE / 4u)]);
        }
    }
}
