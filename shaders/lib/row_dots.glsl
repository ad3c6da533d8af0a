// ROWS x COLS dot products over k by one workgroup, for kernels of few rows that are bound by reading their weights
// once.
//
// The kernel says where the factors are, all of rows of `count` elements: row_a(r) of A_ROWS, of type A_ROWS_TYPE, and
// row_b(c) of b_rows(c), of type B_ROWS_TYPE.
// Lanes stride over k by STEP elements, so that neighbouring lanes read neighbouring 16 bytes; with OCTETS (rows of b of
// 16 bits) by two steps in a row, which are one load of b where there is one row of a. One row also has the registers
// for addresses of rows, made once, and takes two strides at a time, so that loads of the second do not wait for the
// first. More rows add in the same order.
#include "lib/workgroup_reduce_sums.glsl"

const uint AT_ONCE = ROWS == 1u ? 2u : 1u;  // steps
uint row_length;
uvec2 base_a, base_b[COLS];  // of rows that are found once

// With a step of 1 a row may begin within a word.
bool rows_found(uint type) { return ROWS == 1u && STEP == 4u && !is_quantized(type); }
vec4 step_a(uint r, uint k) {
    if (rows_found(A_ROWS_TYPE)) return load_step(base_a, A_ROWS_TYPE, k);
    return load_step(A_ROWS, A_ROWS_TYPE, row_a(r) * row_length + k);
}
vec4 step_b(uint c, uint k) {
    if (rows_found(B_ROWS_TYPE)) return load_step(base_b[c], B_ROWS_TYPE, k);
    return load_step(b_rows(c), B_ROWS_TYPE, row_b(c) * row_length + k);
}

// Adds the products of `steps` steps, the first at k, which are `apart` from each other.
// Loops over `sums` have no branch inside and are unrolled: else some compilers keep it in memory and not in registers.
void add_steps(const uint steps, uint k, uint apart, inout float sums[ROWS][COLS]) {
    vec4 b[AT_ONCE][COLS];
    [[unroll]] for (uint c = 0u; c < COLS; ++c) {
        if (OCTETS && AT_ONCE == 2u) load8(base_b[c], B_ROWS_TYPE, k, b[0][c], b[AT_ONCE - 1u][c]);
        else
            [[unroll]] for (uint s = 0u; s < steps; ++s) b[s][c] = step_b(c, k + s * apart);
    }
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        [[unroll]] for (uint s = 0u; s < steps; ++s) {
            vec4 a = step_a(r, k + s * apart);
            [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[r][c] += dot(a, b[s][c]);
        }
}

// Leaves row r's product with column c in totals[r * COLS + c], for all invocations to read.
void row_dots(uint count) {
    float sums[ROWS][COLS];
    row_length = count;
    if (rows_found(A_ROWS_TYPE)) base_a = row_address(A_ROWS, A_ROWS_TYPE, row_a(0u), count);
    [[unroll]] for (uint c = 0u; c < COLS; ++c)
        if (rows_found(B_ROWS_TYPE)) base_b[c] = row_address(b_rows(c), B_ROWS_TYPE, row_b(c), count);
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[r][c] = 0.0;
    uint k = gl_LocalInvocationID.x * STEP, stride = gl_WorkGroupSize.x * STEP;
    if (OCTETS) {
        for (k *= 2u; k < count; k += 2u * stride)
            [[dont_unroll]] for (uint s = 0u; s < 2u; s += AT_ONCE) add_steps(AT_ONCE, k + 4u * s, 4u, sums);
    } else {
        for (; k + (AT_ONCE - 1u) * stride < count; k += AT_ONCE * stride) add_steps(AT_ONCE, k, stride, sums);
        if (AT_ONCE > 1u && k < count) add_steps(1u, k, stride, sums);
    }
    workgroup_reduce_sums(sums);
}
