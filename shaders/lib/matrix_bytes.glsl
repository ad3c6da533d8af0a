// Products of bytes on matrix units, by tiles as in lib/matrix_tile.glsl: rows of a that are rounded to bytes
// (matmul/round_rows.comp) with quantised rows of b. Used by matmul/coopmat_int8.comp and experts/coopmat_int8.comp.
//
// A block of each line goes through shared memory at a time, as bytes and a scale. Lines take 48 bytes, or 80 where the
// 8 bytes of a matrix's line take 16, so that the lines of a matrix begin in different banks. Sums over a block are
// integers, exact. Scales make floats of them, all elements of a matrix at once: a matrix whose rows, or columns, are
// all the same scales is loaded with a stride of 0. The next block is on its way from memory while this one is
// multiplied.
//
// The including kernel declares the constants of the tile and B_TYPE, and defines from_a to block_of_b.
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#include "lib/weight_bytes.glsl"

const uint LANES = gl_WorkGroupSize.x;
const uint TILE_M = SUBGROUPS_M * REPEAT_M * M, TILE_N = SUBGROUPS_N * REPEAT_N * N, LINES = TILE_M + TILE_N;
const uint STEPS = QUANT_BLOCK / K, STEP_VECTORS = K < 16u ? 1u : K / 16u, STRIDE = STEPS * STEP_VECTORS + 1u;
const uint FETCH = (LINES + LANES - 1u) / LANES;
const uint SLICES = BUFFERS * LINES * STRIDE;
// In the end: M rows of sums of each subgroup, four a vector, padded by 16 bytes (lib/matrix_sums.glsl).
const uint SUM_QUADS = REPEAT_N * N / 4u, SUM_STRIDE = SUM_QUADS + 1u, SUMS = SUBGROUPS_M * SUBGROUPS_N * M * SUM_STRIDE;
struct Slices {
    uvec4 vectors[SLICES > SUMS ? SLICES : SUMS];  // lines of a, then of b
    float scales[BUFFERS * LINES];                 // of the same lines; begins on 16 bytes, as loads of matrices must
};
shared Slices slices;
#define vectors slices.vectors  // as lib/matrix_sums.glsl names them
#define Sums coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>
#define Counts coopmat<int, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>
Sums sums[REPEAT_M * REPEAT_N];

// A block of a line as it lies in memory: its bytes and the word that has its scale.
struct Block {
    uvec4 first, second;
    uint scale;
};
uint from_a(uint row);  // the first element of a row of the tile
uint from_b(uint col);
Block block_of_a(uint i);  // that begins at element i
Block block_of_b(uint i);
Block block_of_rows(uvec2 rows, uint m, uint k, uint i) {
    ReadOctets bytes = ReadOctets(advance(rows, i));
    return Block(bytes.at[0], bytes.at[1], ReadWords(scales_of_rows(rows, m, k)).at[i / QUANT_BLOCK]);
}
Block block_of_weights(uvec2 weights, uint i) {
    ReadOctets bytes = ReadOctets(advance(weights, block_byte(B_TYPE, i)));
    uvec4 first = bytes.at[0];
    return Block(first, B_TYPE == Q8 ? bytes.at[1] : first, ReadWords(weights).at[scale_word(B_TYPE, i)]);
}
// Weights become bytes in the order of their elements. Returns their scale.
float convert_weights(inout Block block, uint i) {
    block.first = bytes_of_half(block.first, B_TYPE, 0u), block.second = bytes_of_half(block.second, B_TYPE, 1u);
    return int8_scale_of_pair(block.scale, B_TYPE, i);
}
Block next[FETCH];  // of the next slice
uint from[FETCH];   // the elements where they begin

uint lane = gl_LocalInvocationID.x;
uint own_m = gl_SubgroupID % SUBGROUPS_M * REPEAT_M, own_n = gl_SubgroupID / SUBGROUPS_M * REPEAT_N;  // in matrices

// The line of the tile that this lane fetches; lanes beyond the last repeat it. Most subgroups fetch one factor's lines.
uint own_line(uint f) { return LINES % LANES == 0u ? lane + f * LANES : min(lane + f * LANES, LINES - 1u); }
void fetch_slice() {
    [[unroll]] for (uint f = 0u; f < FETCH; ++f) next[f] = own_line(f) < TILE_M ? block_of_a(from[f]) : block_of_b(from[f]);
}
void put_slice(uint slot) {
    [[unroll]] for (uint f = 0u; f < FETCH; ++f) {
        if (LINES % LANES != 0u && lane + f * LANES >= LINES) break;
        uint line = slot * LINES + own_line(f), at = line * STRIDE;
        Block block = next[f];
        float scale = own_line(f) < TILE_M ? uintBitsToFloat(block.scale) : convert_weights(block, from[f]);
        if (K < 16u) {
            vectors[at] = uvec4(block.first.xy, 0u, 0u), vectors[at + 1u] = uvec4(block.first.zw, 0u, 0u);
            vectors[at + 2u] = uvec4(block.second.xy, 0u, 0u), vectors[at + 3u] = uvec4(block.second.zw, 0u, 0u);
        } else {
            vectors[at] = block.first, vectors[at + 1u] = block.second;
        }
        slices.scales[line] = scale;
    }
}

// Adds the products of a slice to the sums of this subgroup.
void multiply_slice(uint slot) {
    uint line_a = slot * LINES + own_m * M, line_b = slot * LINES + TILE_M + own_n * N;
    uint at_a = line_a * STRIDE, at_b = line_b * STRIDE;
    coopmat<int8_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> rows[REPEAT_M * STEPS];
    Sums row_scales[REPEAT_M];
    [[unroll]] for (uint i = 0u; i < REPEAT_M; ++i) {
        coopMatLoad(row_scales[i], slices.scales, line_a + i * M, 0u, gl_CooperativeMatrixLayoutColumnMajor);
        [[unroll]] for (uint s = 0u; s < STEPS; ++s)
            coopMatLoad(rows[i * STEPS + s], vectors, at_a + i * M * STRIDE + s * STEP_VECTORS, STRIDE, gl_CooperativeMatrixLayoutRowMajor);
    }
    [[unroll]] for (uint j = 0u; j < REPEAT_N; ++j) {
        coopmat<int8_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> cols[STEPS];
        Sums col_scales;
        coopMatLoad(col_scales, slices.scales, line_b + j * N, 0u, gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint s = 0u; s < STEPS; ++s)
            coopMatLoad(cols[s], vectors, at_b + j * N * STRIDE + s * STEP_VECTORS, STRIDE, gl_CooperativeMatrixLayoutColumnMajor);
        [[unroll]] for (uint i = 0u; i < REPEAT_M; ++i) {
            Counts counts = Counts(0);
            [[unroll]] for (uint s = 0u; s < STEPS; ++s) counts = coopMatMulAdd(rows[i * STEPS + s], cols[s], counts);
            sums[i * REPEAT_N + j] += Sums(counts) * col_scales * row_scales[i];
        }
    }
}

// The sums of this subgroup over elements k_begin to k_end, whole blocks.
void multiply(uint k_begin, uint k_end) {
    [[unroll]] for (uint i = 0u; i < REPEAT_M * REPEAT_N; ++i) sums[i] = Sums(0.0);
    [[unroll]] for (uint f = 0u; f < FETCH; ++f)
        from[f] = k_begin + (own_line(f) < TILE_M ? from_a(own_line(f)) : from_b(own_line(f) - TILE_M));
    fetch_slice();
    put_slice(0u);
    barrier();
    uint slot = 0u;
    [[dont_unroll]] for (uint left = (k_end - k_begin) / QUANT_BLOCK; left > 0u; --left) {
        if (left > 1u) {
            [[unroll]] for (uint f = 0u; f < FETCH; ++f) from[f] += QUANT_BLOCK;
            fetch_slice();
        }
        multiply_slice(slot);
        if (BUFFERS == 1u)
            barrier();
        else
            slot ^= 1u;
        if (left > 1u) put_slice(slot);
        barrier();
    }
}
