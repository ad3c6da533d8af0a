// ROWS x COLS dot products over k of floats with quantised weights, of which each lane of a team makes a part.
//
// A lane takes QUARTERS quarters of blocks (8 elements: 4 or 8 bytes of quants) at a time, and a block's scale
// multiplies what 8 products sum up to: the integers become floats in registers, and weights are never written anywhere
// in f32. Where blocks have a minimum, it multiplies the sum of 8 elements of a, which all columns share. The kernel says
// where the factors are: A_ROWS, A_ROWS_TYPE, row_a(r), B_ROWS_TYPE, b_rows(c) and row_b(c), as for lib/row_dots.glsl.
// Where there is one row of a, and rows of b begin with a group of quants (ALIGNED), addresses of rows are made once;
// else elements count from the first row.
//
// With INT8, which needs lib/int8.glsl, rows of a are rounded to bytes, and products are of four bytes at once. One row is
// rounded here, by the lanes of a quad, which share a block. Of several, A_ROWS are ROUNDED_ROWS rows that
// matmul/round_rows.comp has rounded. Both ways give the same bits.
#extension GL_EXT_control_flow_attributes : require
#ifdef INT8
#extension GL_KHR_shader_subgroup_quad : require
#endif

const uint AT_ONCE = ROWS == 1u && QUARTERS == 1u && COLS <= 4u ? 2u : 1u;  // as in lib/row_dots.glsl
// The second is a whole number of groups behind the first: it has the same offsets, from an address of its own.
bool whole_groups() {
    return ROWS == 1u && ALIGNED && gl_WorkGroupSize.x * QUARTERS % (group_elements(B_ROWS_TYPE) / 8u) == 0u;
}
uint row_length;
uvec2 base_a[AT_ONCE], base_b[AT_ONCE][COLS];
uint from_b[COLS];

vec4 load_a(const uint s, uint r, uint k) {
    if (ROWS == 1u) return load4(base_a[s], A_ROWS_TYPE, k);
    return load4(A_ROWS, A_ROWS_TYPE, row_a(r) * row_length + k);
}

float sum4(vec4 a) { return (a.x + a.y) + (a.z + a.w); }
float chain(vec4 a, vec4 b, float sum) { return fma(a.w, b.w, fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, sum)))); }

// add_quarters adds the products of the quarters from `quarter` on, which are all of one block; `s`: which addresses.
#ifdef INT8
// The lane of this workgroup, four of a quad in a row.
uint team_lane() { return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID; }

struct RoundedQuarter { float scale; uint first, second; };

RoundedQuarter rounded_a(const uint s, uint r, uint k0, uint k) {
    RoundedQuarter a;
    uint second = k + quarter_stride(B_ROWS_TYPE);
    if (ROWS == 1u) {
        vec4 x = load_a(s, r, k), y = load_a(s, r, second);
        uint largest = max(magnitude4(x), magnitude4(y));
        largest = max(largest, subgroupQuadSwapHorizontal(largest));
        largest = max(largest, subgroupQuadSwapVertical(largest));
        float inverse = byte_inverse(largest);
        a.scale = byte_scale(largest), a.first = rounded4(x, inverse), a.second = rounded4(y, inverse);
    } else {
        uint row = row_a(r) * row_length;
        a.scale = ReadFloats(scales_of_rows(A_ROWS, ROUNDED_ROWS, row_length)).at[(row + k0) / QUANT_BLOCK];
        a.first = ReadWords(A_ROWS).at[(row + k) / 4u], a.second = ReadWords(A_ROWS).at[(row + second) / 4u];
    }
    return a;
}

void add_quarters(const uint s, uint quarter, inout float sums[ROWS][COLS]) {
    uint q = quarter % 4u, k0 = quarter / 4u * QUANT_BLOCK, k = k0 + quarter_first(B_ROWS_TYPE, q);
    uvec2 b[COLS];
    float scale[COLS];
    [[unroll]] for (uint c = 0u; c < COLS; ++c) {
        b[c] = int8_quarter(base_b[s][c], B_ROWS_TYPE, from_b[c] + k0, q);
        scale[c] = int8_scale(base_b[s][c], B_ROWS_TYPE, from_b[c] + k0);
    }
    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
        RoundedQuarter a = rounded_a(s, r, k0, k);
        [[unroll]] for (uint c = 0u; c < COLS; ++c) {
            precise float scales = a.scale * scale[c];
            sums[r][c] = fma(scales, float(dot4(a.first, b[c].x) + dot4(a.second, b[c].y)), sums[r][c]);
        }
    }
}
#else
uint team_lane() { return gl_LocalInvocationID.x; }

void add_quarters(const uint s, uint quarter, inout float sums[ROWS][COLS]) {
    uint k0 = quarter / 4u * QUANT_BLOCK;
    Scales scales[COLS];
    [[unroll]] for (uint c = 0u; c < COLS; ++c)
        scales[c] = scales_of(load_scales(base_b[s][c], B_ROWS_TYPE, from_b[c] + k0), B_ROWS_TYPE, from_b[c] + k0);
    [[unroll]] for (uint i = 0u; i < QUARTERS; ++i) {
        uint q = QUARTERS == 4u ? i : quarter % 4u, k = k0 + quarter_first(B_ROWS_TYPE, q);
        Quarter b[COLS];
        [[unroll]] for (uint c = 0u; c < COLS; ++c) b[c] = quants8(base_b[s][c], B_ROWS_TYPE, from_b[c] + k0, q);
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
            vec4 first = load_a(s, r, k), second = load_a(s, r, k + quarter_stride(B_ROWS_TYPE));
            float total = sum4(first) + sum4(second);
            [[unroll]] for (uint c = 0u; c < COLS; ++c) {
                float part = chain(first, b[c].first, 0.0), sum = sums[r][c];
                if (B_ROWS_TYPE == Q6_K) sum = fma(scales[c].scale.x, part, sum), part = 0.0;
                sum = fma(scales[c].scale.y, chain(second, b[c].second, part), sum);
                sums[r][c] = has_minimum(B_ROWS_TYPE) ? fma(-scales[c].minimum, total, sum) : sum;
            }
        }
    }
}
#endif

// What lane `own` of `lanes` makes of the sums over `count` elements, a multiple of a block.
void quantized_dots(uint count, uint own, uint lanes, out float sums[ROWS][COLS]) {
    row_length = count;
    uint quarter = own * QUARTERS, stride = lanes * QUARTERS, ahead = whole_groups() ? stride * 8u : 0u;  // elements
    [[unroll]] for (uint s = 0u; s < AT_ONCE; ++s) {
        [[unroll]] for (uint c = 0u; c < COLS; ++c) {
            base_b[s][c] = b_rows(c), from_b[c] = row_b(c) * count;
            if (ROWS > 1u || !ALIGNED) continue;
            base_b[s][c] = quantized_row(quantized_row(b_rows(c), B_ROWS_TYPE, row_b(c), count), B_ROWS_TYPE, s, ahead);
            from_b[c] = 0u;
        }
        if (ROWS == 1u) base_a[s] = row_address(row_address(A_ROWS, A_ROWS_TYPE, row_a(0u), count), A_ROWS_TYPE, s, ahead);
    }
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[r][c] = 0.0;
    for (; quarter + (AT_ONCE - 1u) * stride < count / 8u; quarter += AT_ONCE * stride)
        [[unroll]] for (uint s = 0u; s < AT_ONCE; ++s) add_quarters(s, whole_groups() ? quarter : quarter + s * stride, sums);
    if (AT_ONCE > 1u && quarter < count / 8u) add_quarters(0u, quarter, sums);
}
