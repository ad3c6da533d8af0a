// ROWS x COLS dot products over k of floats with quantised weights, of which each lane of a team makes a part.
//
// A lane takes QUARTERS quarters of blocks (8 elements: 4 or 8 bytes of weights) at a time, and a block's scale
// multiplies what 8 products sum up to: the integers become floats in registers, and weights are never written anywhere
// in f32. The kernel says where the factors are: vec4 load_a(uint row, uint k), four elements from k on; float
// load_scale(uint col, uint k0) and Quarter load_quarter(uint col, uint k0, uint quarter) of the block that begins at
// k0; and QUANTS, the weights' type.
#extension GL_EXT_control_flow_attributes : require

float chain(vec4 a, vec4 b, float sum) { return fma(a.w, b.w, fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, sum)))); }

// Quarters from `quarter` on, which are all of one block.
void add_quarters(uint quarter, inout float sums[ROWS][COLS]) {
    uint k0 = quarter / 4u * QUANT_BLOCK;
    float scale[COLS];
    [[unroll]] for (uint c = 0u; c < COLS; ++c) scale[c] = load_scale(c, k0);
    [[unroll]] for (uint i = 0u; i < QUARTERS; ++i) {
        uint q = QUARTERS == 4u ? i : quarter % 4u, k = k0 + quarter_first(QUANTS, q);
        Quarter b[COLS];
        [[unroll]] for (uint c = 0u; c < COLS; ++c) b[c] = load_quarter(c, k0, q);
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
            vec4 first = load_a(r, k), second = load_a(r, k + quarter_stride(QUANTS));
            [[unroll]] for (uint c = 0u; c < COLS; ++c)
                sums[r][c] = fma(scale[c], chain(second, b[c].second, chain(first, b[c].first, 0.0)), sums[r][c]);
        }
    }
}

// What lane `own` of `lanes` makes of the sums over `count` elements, a multiple of a block.
void quantized_dots(uint count, uint own, uint lanes, out float sums[ROWS][COLS]) {
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[r][c] = 0.0;
    for (uint quarter = own * QUARTERS; quarter < count / 8u; quarter += lanes * QUARTERS) add_quarters(quarter, sums);
}
