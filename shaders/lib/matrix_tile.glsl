// Products of matrices on matrix units, by tiles: how slices of both factors come, and the sums over them. Used by
// matmul (lib/matmul_matrices.glsl) and by experts/coopmat.comp.
//
// A workgroup computes a tile of TILE_M rows and TILE_N columns. A subgroup keeps REPEAT_M x REPEAT_N matrices of sums,
// of the shape M x N that the device multiplies at once, over K elements of k; a workgroup has SUBGROUPS_M x SUBGROUPS_N
// subgroups. Slices of DEPTH elements of k go through shared memory as f16, each factor's lines as they lie in memory
// (rows of a and columns of b along k, else transposed), padded by 16 bytes so that the lines of a matrix begin in
// different banks. The next slice is on its way from memory while this one is multiplied. f16 data is unchanged; f32 and
// bf16 are rounded: fits_coopmat says when that is allowed (docs/decisions.md). Elements behind the end of k are zeros,
// and lines beyond the edges repeat another, so that tiles there take no other path.
//
// The including kernel declares those constants; STAGED, whether sums leave through shared memory (lib/matrix_sums.glsl);
// A_TYPE, B_TYPE, A_ALONG_K and B_ALONG_K; p.k; and line_of_a. Before it multiplies it sets the variables of the tile.
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#include "lib/fp16.glsl"

const uint LANES = gl_WorkGroupSize.x;
const uint TILE_M = SUBGROUPS_M * REPEAT_M * M, TILE_N = SUBGROUPS_N * REPEAT_N * N;
// Lines of a slice, their vectors of 8 elements, and the vectors from one to the next.
const uint LINES_A = A_ALONG_K ? TILE_M : DEPTH, WIDTH_A = (A_ALONG_K ? DEPTH : TILE_M) / 8u, STRIDE_A = WIDTH_A + 1u;
const uint LINES_B = B_ALONG_K ? TILE_N : DEPTH, WIDTH_B = (B_ALONG_K ? DEPTH : TILE_N) / 8u, STRIDE_B = WIDTH_B + 1u;
const uint ITEMS_A = LINES_A * WIDTH_A, ITEMS_B = LINES_B * WIDTH_B;
const uint FETCH_A = (ITEMS_A + LANES - 1u) / LANES, FETCH_B = (ITEMS_B + LANES - 1u) / LANES;
const int LAYOUT_A = A_ALONG_K ? gl_CooperativeMatrixLayoutRowMajor : gl_CooperativeMatrixLayoutColumnMajor;
const int LAYOUT_B = B_ALONG_K ? gl_CooperativeMatrixLayoutColumnMajor : gl_CooperativeMatrixLayoutRowMajor;
const uint SLICE_A = LINES_A * STRIDE_A, SLICE_B = LINES_B * STRIDE_B, SLICES = BUFFERS * (SLICE_A + SLICE_B);
// In the end: M rows of sums of each subgroup, four a vector, padded by 16 bytes.
const uint SUM_QUADS = REPEAT_N * N / 4u, SUM_STRIDE = SUM_QUADS + 1u, SUMS = STAGED ? SUBGROUPS_M * SUBGROUPS_N * M * SUM_STRIDE : 0u;
shared uvec4 vectors[SLICES > SUMS ? SLICES : SUMS];  // slices of a, then of b
RawOctet next_a[FETCH_A], next_b[FETCH_B];  // of the next slice; with a step of 1 already in f16
uint from_a[FETCH_A], from_b[FETCH_B];      // where these octets are in their operands, at k = 0
coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> sums[REPEAT_M * REPEAT_N];

// One of the factors: where it begins, and its rows (of a) or columns (of b).
struct Factor {
    uvec2 address;
    uint begin, lines;
};
Factor a, b;
uint row0, col0, k_begin, k_end;  // the tile, and its part of k
uint line_of_a(uint line);        // the row of a that row `line` of the tile is, or any where the tile has no such row

uint lane = gl_LocalInvocationID.x;
uint own_m = gl_SubgroupID % SUBGROUPS_M * REPEAT_M, own_n = gl_SubgroupID / SUBGROUPS_M * REPEAT_N;  // in matrices

// A slice consists of octets: eight elements of a line. k_of: the first element of k of octet i. from_line, from_k: the
// index of an octet in its factor at k = 0, where lines are along k and where they are not; the last lines are not
// stored.
uint k_of(bool along_k, uint i, uint width) { return along_k ? i % width * 8u : i / width; }
uint line_of_b(uint line) { return min(col0 + line, b.lines - 1u); }
uint from_line(Factor f, uint line) { return f.begin + line * p.k; }
uint from_k(Factor f, uint first, uint i, uint width) { return f.begin + min(first + i % width * 8u, f.lines - 8u); }
uint element_of(bool along_k, uint from, uint k, uint lines) { return from + (along_k ? k : k * lines); }
RawOctet fetch(Factor f, uint type, bool along_k, uint from, uint k) {
    if (TAIL) k = min(k, k_end - (along_k ? 8u : 1u));
    return load_raw8(f.address, type, element_of(along_k, from, k, f.lines));
}
// The same where lines do not end on eight elements, one by one: zeros beyond the end of k.
uvec4 fetch_of_line(Factor f, uint type, uint line, uint k) { return load_line(f.address, type, from_line(f, line), k, k_end, 1u); }
uvec4 fetch_of_k(Factor f, uint type, uint k, uint at) {
    return k < k_end ? load_line(f.address, type, f.begin + k * f.lines, at, f.lines, 1u) : uvec4(0u);
}
void fetch_slice(uint k0) {
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        uint i = ITEMS_A % LANES == 0u ? lane + f * LANES : min(lane + f * LANES, ITEMS_A - 1u), k = k0 + k_of(A_ALONG_K, i, WIDTH_A);
        if (STEP_A == 8u) next_a[f] = fetch(a, A_TYPE, A_ALONG_K, from_a[f], k);
        else if (A_ALONG_K) next_a[f].first = fetch_of_line(a, A_TYPE, line_of_a(i / WIDTH_A), k);
        else next_a[f].first = fetch_of_k(a, A_TYPE, k, row0 + i % WIDTH_A * 8u);
    }
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        uint i = ITEMS_B % LANES == 0u ? lane + f * LANES : min(lane + f * LANES, ITEMS_B - 1u), k = k0 + k_of(B_ALONG_K, i, WIDTH_B);
        if (STEP_B == 8u) next_b[f] = fetch(b, B_TYPE, B_ALONG_K, from_b[f], k);
        else if (B_ALONG_K) next_b[f].first = fetch_of_line(b, B_TYPE, line_of_b(i / WIDTH_B), k);
        else next_b[f].first = fetch_of_k(b, B_TYPE, k, col0 + i % WIDTH_B * 8u);
    }
}
// An octet in f16; zeros behind the last element of k.
uvec4 converted(RawOctet raw, uint type, uint step, bool along_k, uint from, uint k, uint lines) {
    if (step != 8u) return raw.first;
    if (TAIL && k >= k_end) return uvec4(0u);
    return to_f16x8(raw, type, element_of(along_k, from, k, lines));
}
void put_slice(uint slot, uint k0) {
    uint first = slot * (SLICE_A + SLICE_B);
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        uint i = lane + f * LANES;
        if (ITEMS_A % LANES == 0u || i < ITEMS_A)
            vectors[first + i / WIDTH_A * STRIDE_A + i % WIDTH_A] =
                converted(next_a[f], A_TYPE, STEP_A, A_ALONG_K, from_a[f], k0 + k_of(A_ALONG_K, i, WIDTH_A), a.lines);
    }
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        uint i = lane + f * LANES;
        if (ITEMS_B % LANES == 0u || i < ITEMS_B)
            vectors[first + SLICE_A + i / WIDTH_B * STRIDE_B + i % WIDTH_B] =
                converted(next_b[f], B_TYPE, STEP_B, B_ALONG_K, from_b[f], k0 + k_of(B_ALONG_K, i, WIDTH_B), b.lines);
    }
}

// The sums of this subgroup over its part of k.
void multiply() {
    [[unroll]] for (uint i = 0u; i < REPEAT_M * REPEAT_N; ++i)
        sums[i] = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0.0);
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        uint i = ITEMS_A % LANES == 0u ? lane + f * LANES : min(lane + f * LANES, ITEMS_A - 1u);
        from_a[f] = A_ALONG_K ? from_line(a, line_of_a(i / WIDTH_A)) : from_k(a, row0, i, WIDTH_A);
    }
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        uint i = ITEMS_B % LANES == 0u ? lane + f * LANES : min(lane + f * LANES, ITEMS_B - 1u);
        from_b[f] = B_ALONG_K ? from_line(b, line_of_b(i / WIDTH_B)) : from_k(b, col0, i, WIDTH_B);
    }
    fetch_slice(k_begin);
    put_slice(0u, k_begin);
    barrier();
    uint slot = 0u;
    for (uint k0 = k_begin; k0 < k_end; k0 += DEPTH) {
        bool more = k0 + DEPTH < k_end;
        if (more) fetch_slice(k0 + DEPTH);
        uint first_a = slot * (SLICE_A + SLICE_B), first_b = first_a + SLICE_A;
        [[unroll]] for (uint k = 0u; k < DEPTH; k += K) {
            coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> rows[REPEAT_M];
            [[unroll]] for (uint i = 0u; i < REPEAT_M; ++i) {
                uint row = (own_m + i) * M;
                coopMatLoad(rows[i], vectors, first_a + (A_ALONG_K ? row * STRIDE_A + k / 8u : k * STRIDE_A + row / 8u), STRIDE_A, LAYOUT_A);
            }
            [[unroll]] for (uint j = 0u; j < REPEAT_N; ++j) {
                uint col = (own_n + j) * N;
                coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> cols;
                coopMatLoad(cols, vectors, first_b + (B_ALONG_K ? col * STRIDE_B + k / 8u : k * STRIDE_B + col / 8u), STRIDE_B, LAYOUT_B);
                [[unroll]] for (uint i = 0u; i < REPEAT_M; ++i) sums[i * REPEAT_N + j] = coopMatMulAdd(rows[i], cols, sums[i * REPEAT_N + j]);
            }
        }
        if (BUFFERS == 1u)
            barrier();
        else
            slot ^= 1u;
        if (more) put_slice(slot, k0 + DEPTH);
        barrier();
    }
}
