// How tiles of a matrix product are stored, four neighbouring columns at a time: lib/matmul.glsl's epilogue, or a
// part's sum.
//
// STEP_N, a specialization constant of the kernel, is 4 where rows of c begin on a boundary of four elements, else 1.
#extension GL_EXT_control_flow_attributes : require
#include "lib/matmul.glsl"

vec4 epilogue4(vec4 product, uint batch, uint row, uint col) {
    vec4 value = p.alpha * product;
    if (present(p.bias)) value += load4(p.bias, BIAS_TYPE, col);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) value[i] = activate(ACTIVATION, value[i]);
    if (present(p.residual)) value += p.beta * load4(p.residual, A_TYPE, (batch * p.m + row) * p.n + col);
    return value;
}

// Where a part of k leaves its sums, f32 (parts, batches, m, n).
uvec2 split_sums(uvec2 address, uint split) { return row_address(address, F32, split * p.batches * p.m, p.n); }

// Columns col … col + 3 of a row, as many as there are; col is a multiple of 4.
void store_result(vec4 product, uint batch, uint row, uint col) {
    uint cell = (batch * p.m + row) * p.n + col;
    if (STEP_N == 4u)
        store4(p.c, A_TYPE, cell, epilogue4(product, batch, row, col));
    else
        for (uint i = 0u; i < min(4u, p.n - col); ++i) store(p.c, A_TYPE, cell + i, epilogue(product[i], batch, row, col + i));
}
// The same from inside of a tile that may reach beyond c; a part of k leaves its sums to matmul/reduce_splits.comp.
void finish4(vec4 product, uint split, uint batch, uint row, uint col) {
    if (row >= p.m || col >= p.n) return;
    if (p.k_splits == 1u) {
        store_result(product, batch, row, col);
        return;
    }
    uvec2 sums = split_sums(p.c, split);
    uint cell = (batch * p.m + row) * p.n + col;
    if (STEP_N == 4u)
        store4(sums, F32, cell, product);
    else
        for (uint i = 0u; i < min(4u, p.n - col); ++i) store(sums, F32, cell + i, product[i]);
}
// One element, likewise.
void finish1(float product, uint split, uint batch, uint row, uint col) {
    if (row >= p.m || col >= p.n) return;
    uint cell = (batch * p.m + row) * p.n + col;
    if (p.k_splits == 1u)
        store(p.c, A_TYPE, cell, epilogue(product, batch, row, col));
    else
        store(split_sums(p.c, split), F32, cell, product);
}
