// What the kernels of matrix products on matrix units share (matmul/coopmat.comp, matmul/coopmat2.comp): how slices of
// the operands come, and the sums over them.
//
// One workgroup per tile of c, batch and part of k. A subgroup keeps REPEAT_M x REPEAT_N matrices of sums, of the shape
// M x N that the device multiplies at once, over K elements of k; a workgroup has SUBGROUPS_M x SUBGROUPS_N subgroups.
// Slices of DEPTH elements of k go through shared memory as f16, each operand's lines as they lie in memory (rows of a
// and columns of b along k, else transposed), padded by 16 bytes so that the lines of a matrix begin in different
// banks. The next slice is on its way from memory while this one is multiplied. f16 data is unchanged; f32 and bf16 are
// rounded: fits_coopmat says when that is allowed (docs/decisions.md). Elements behind the end of k are zeros, and lines
// beyond the edges repeat the last, so that tiles there take no other path. The including kernel declares those constants and STAGED: the vectors of 16 bytes
// that it wants of `vectors` itself, in the end.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#include "lib/matmul_store.glsl"
#include "lib/fp16.glsl"

const uint LANES = gl_WorkGroupSize.x;
const uint TILE_M = SUBGROUPS_M * REPEAT_M * M, TILE_N = SUBGROUPS_N * REPEAT_N * N;
const bool A_ALONG_K = !TRANSPOSE_A, B_ALONG_K = TRANSPOSE_B;
// Lines of a slice, their vectors of 8 elements, and the vectors from one to the next.
const uint LINES_A = A_ALONG_K ? TILE_M : DEPTH, WIDTH_A = (A_ALONG_K ? DEPTH : TILE_M) / 8u, STRIDE_A = WIDTH_A + 1u;
const uint LINES_B = B_ALONG_K ? TILE_N : DEPTH, WIDTH_B = (B_ALONG_K ? DEPTH : TILE_N) / 8u, STRIDE_B = WIDTH_B + 1u;
const uint ITEMS_A = LINES_A * WIDTH_A, ITEMS_B = LINES_B * WIDTH_B;
const uint FETCH_A = (ITEMS_A + LANES - 1u) / LANES, FETCH_B = (ITEMS_B + LANES - 1u) / LANES;
const int LAYOUT_A = A_ALONG_K ? gl_CooperativeMatrixLayoutRowMajor : gl_CooperativeMatrixLayoutColumnMajor;
const int LAYOUT_B = B_ALONG_K ? gl_CooperativeMatrixLayoutColumnMajor : gl_CooperativeMatrixLayoutRowMajor;
const uint SLICE_A = LINES_A * STRIDE_A, SLICE_B = LINES_B * STRIDE_B, SLICES = BUFFERS * (SLICE_A + SLICE_B);
shared uvec4 vectors[SLICES > STAGED ? SLICES : STAGED];  // slices of a, then of b
RawOctet next_a[FETCH_A], next_b[FETCH_B];  // of the next slice; with a step of 1 already in f16
uint from_a[FETCH_A], from_b[FETCH_B];      // where these octets are in their operands, at k = 0
coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> sums[REPEAT_M * REPEAT_N];

uint lane = gl_LocalInvocationID.x, split = gl_WorkGroupID.z % p.k_splits, batch = gl_WorkGroupID.z / p.k_splits;
uint row0 = gl_WorkGroupID.y * TILE_M, col0 = gl_WorkGroupID.x * TILE_N;
uint own_m = gl_SubgroupID % SUBGROUPS_M * REPEAT_M, own_n = gl_SubgroupID / SUBGROUPS_M * REPEAT_N;  // in matrices
uint a0 = a_base(batch), b0 = b_base(batch), k_begin = split * p.k_per_split, k_end = min(p.k, k_begin + p.k_per_split);

// A slice consists of octets: eight elements of a line. k_of: the first element of k of octet i. place_of: its index at
// k = 0 in an operand of `count` rows or columns; the tile begins at row or column `first`. Indices beyond the edge are
// clamped to the last row or column, whose sums are not stored.
uint k_of(bool along_k, uint i, uint width) { return along_k ? i % width * 8u : i / width; }
uint place_of(bool along_k, uint i, uint width, uint first, uint count) {
    return along_k ? min(first + i / width, count - 1u) * p.k : min(first + i % width * 8u, count - 8u);
}
uint element_of(bool along_k, uint from, uint k, uint count) { return from + (along_k ? k : k * count); }
RawOctet fetch(uvec2 address, uint type, bool along_k, uint from, uint k, uint count) {
    if (TAIL) k = min(k, k_end - (along_k ? 8u : 1u));
    return load_raw8(address, type, element_of(along_k, from, k, count));
}
// The same where lines do not end on eight elements: one by one, zeros beyond the edges.
uvec4 fetch_singly(uvec2 address, uint type, bool along_k, uint base, uint i, uint width, uint first, uint k0, uint count) {
    uint line = i / width + (along_k ? first : k0), at = i % width * 8u + (along_k ? k0 : first);
    if (line >= (along_k ? count : k_end)) return uvec4(0u);
    return load_line(address, type, base + line * (along_k ? p.k : count), at, along_k ? k_end : count, 1u);
}
void fetch_slice(uint k0) {
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        uint i = ITEMS_A % LANES == 0u ? lane + f * LANES : min(lane + f * LANES, ITEMS_A - 1u);
        if (STEP_A == 8u)
            next_a[f] = fetch(p.a, A_TYPE, A_ALONG_K, from_a[f], k0 + k_of(A_ALONG_K, i, WIDTH_A), p.m);
        else
            next_a[f].first = fetch_singly(p.a, A_TYPE, A_ALONG_K, a0, i, WIDTH_A, row0, k0, p.m);
    }
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        uint i = ITEMS_B % LANES == 0u ? lane + f * LANES : min(lane + f * LANES, ITEMS_B - 1u);
        if (STEP_B == 8u)
            next_b[f] = fetch(p.b, B_TYPE, B_ALONG_K, from_b[f], k0 + k_of(B_ALONG_K, i, WIDTH_B), p.n);
        else
            next_b[f].first = fetch_singly(p.b, B_TYPE, B_ALONG_K, b0, i, WIDTH_B, col0, k0, p.n);
    }
}
// An octet in f16; zeros behind the last element of k.
uvec4 converted(RawOctet raw, uint type, uint step, bool along_k, uint from, uint k, uint count) {
    if (step != 8u) return raw.first;
    if (TAIL && k >= k_end) return uvec4(0u);
    return to_f16x8(raw, type, element_of(along_k, from, k, count));
}
void put_slice(uint slot, uint k0) {
    uint first = slot * (SLICE_A + SLICE_B);
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        uint i = lane + f * LANES;
        if (ITEMS_A % LANES == 0u || i < ITEMS_A)
            vectors[first + i / WIDTH_A * STRIDE_A + i % WIDTH_A] =
                converted(next_a[f], A_TYPE, STEP_A, A_ALONG_K, from_a[f], k0 + k_of(A_ALONG_K, i, WIDTH_A), p.m);
    }
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        uint i = lane + f * LANES;
        if (ITEMS_B % LANES == 0u || i < ITEMS_B)
            vectors[first + SLICE_A + i / WIDTH_B * STRIDE_B + i % WIDTH_B] =
                converted(next_b[f], B_TYPE, STEP_B, B_ALONG_K, from_b[f], k0 + k_of(B_ALONG_K, i, WIDTH_B), p.n);
    }
}

// The sums of this subgroup over its part of k.
void multiply() {
    [[unroll]] for (uint i = 0u; i < REPEAT_M * REPEAT_N; ++i)
        sums[i] = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0.0);
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) from_a[f] = a0 + place_of(A_ALONG_K, lane + f * LANES, WIDTH_A, row0, p.m);
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) from_b[f] = b0 + place_of(B_ALONG_K, lane + f * LANES, WIDTH_B, col0, p.n);
    fetch_slice(k_begin);
    put_slice(0u, k_begin);
    barrier();
    uint slot = 0u;
    for (uint k0 = k_begin; k0 < k_end; k0 += DEPTH) {
        bool more = k0 + DEPTH < k_end;
        if (more) fetch_slice(k0 + DEPTH);
        uint first_a = slot * (SLICE_A + SLICE_B), first_b = first_a + SLICE_A;
        [[unroll]] for (uint k = 0u; k < DEPTH; k += K) {
            coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> a[REPEAT_M];
            [[unroll]] for (uint i = 0u; i < REPEAT_M; ++i) {
                uint row = (own_m + i) * M;
                coopMatLoad(a[i], vectors, first_a + (A_ALONG_K ? row * STRIDE_A + k / 8u : k * STRIDE_A + row / 8u), STRIDE_A, LAYOUT_A);
            }
            [[unroll]] for (uint j = 0u; j < REPEAT_N; ++j) {
                uint col = (own_n + j) * N;
                coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> b;
                coopMatLoad(b, vectors, first_b + (B_ALONG_K ? col * STRIDE_B + k / 8u : k * STRIDE_B + col / 8u), STRIDE_B, LAYOUT_B);
                [[unroll]] for (uint i = 0u; i < REPEAT_M; ++i) sums[i * REPEAT_N + j] = coopMatMulAdd(a[i], b, sums[i * REPEAT_N + j]);
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
