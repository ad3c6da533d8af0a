// Register tiles for attention: products of TILE rows that a workgroup owns with TILE rows that it meets, and sums of
// the met rows by what these products became. For attention/tiled.comp and attention/backward_tiled.comp.
//
// 256 lanes in SIDE rows of SIDE: lane (x, y) has the products of the own rows 4 y … 4 y + 3 and the met rows 4 x …
// 4 x + 3, and features 4 (x + q SIDE) … of its own rows' sums. Operands go through shared memory in slices of SLICE
// features or of SLICE met rows. 31 KiB of shared memory.
//
// The including kernel declares OWN_TYPE, MET_TYPE, D, DV, and uint own_row(uint line), uint met_row(uint place): rows
// of tensors, also for lines and places beyond the last one.
#extension GL_EXT_control_flow_attributes : require

const uint TILE = 64u, SIDE = 16u, QUADS = 4u, SLICE = 4u * QUADS;
const uint LINE = QUADS + 1u, PAIR_LINE = TILE / 4u + 1u;  // vec4s, odd: neighbouring lanes meet different banks
const uint QUADS_OF_LANE = ((D > DV ? D : DV) + TILE - 1u) / TILE, QUADS_OF_SUMS = 4u * QUADS_OF_LANE;
shared vec4 lines[2u * TILE * LINE];  // slices of own and of met rows; or SLICE met rows
shared vec4 pairs[TILE * PAIR_LINE];  // a number for each pair, by own row

uint lane = gl_LocalInvocationID.x, lane_x = lane % SIDE, lane_y = lane / SIDE;
vec4 products[4];  // [r][c] of own row 4 lane_y + r and met row 4 lane_x + c

// Products of the own rows of `own` and those of `others` at the places from `met` on; both are `width` wide.
void multiply(uvec2 own, uvec2 others, uint met, uint width) {
    uint line = lane / QUADS, quad = lane % QUADS;
    uvec2 a = row_address(own, OWN_TYPE, own_row(line), width), b = row_address(others, MET_TYPE, met_row(met + line), width);
    uint place_b = (TILE + line % 4u * SIDE + line / 4u) * LINE + quad;  // the four of a lane are SIDE lines apart
    [[unroll]] for (uint r = 0u; r < 4u; ++r) products[r] = vec4(0.0);
    vec4 next_a = 4u * quad < width ? load4(a, OWN_TYPE, 4u * quad) : vec4(0.0),
         next_b = 4u * quad < width ? load4(b, MET_TYPE, 4u * quad) : vec4(0.0);
    for (uint d = 0u; d < width; d += SLICE) {
        barrier();
        lines[line * LINE + quad] = next_a;
        lines[place_b] = next_b;
        barrier();
        uint next = d + SLICE + 4u * quad;  // on its way while this slice is multiplied
        next_a = next < width ? load4(a, OWN_TYPE, next) : vec4(0.0);
        next_b = next < width ? load4(b, MET_TYPE, next) : vec4(0.0);
        [[unroll]] for (uint k = 0u; k < QUADS; ++k) {
            vec4 y[4];
            [[unroll]] for (uint c = 0u; c < 4u; ++c) y[c] = lines[(TILE + c * SIDE + lane_x) * LINE + k];
            [[unroll]] for (uint r = 0u; r < 4u; ++r) {
                vec4 x = lines[(4u * lane_y + r) * LINE + k];
                [[unroll]] for (uint c = 0u; c < 4u; ++c)
                    products[r][c] = fma(x.w, y[c].w, fma(x.z, y[c].z, fma(x.y, y[c].y, fma(x.x, y[c].x, products[r][c]))));
            }
        }
    }
}

// A lane's own pairs. Those of other lanes are there after a barrier.
void put_pairs(vec4 rows[4]) {
    [[unroll]] for (uint r = 0u; r < 4u; ++r) pairs[(4u * lane_y + r) * PAIR_LINE + lane_x] = rows[r];
}
void get_pairs(out vec4 rows[4]) {
    [[unroll]] for (uint r = 0u; r < 4u; ++r) rows[r] = pairs[(4u * lane_y + r) * PAIR_LINE + lane_x];
}

void put_factors(vec4 rows[4]) { put_pairs(rows); }  // of add_pairs

// Of own row 4 lane_y + r the features 4 (lane_x + q SIDE) …, at r QUADS_OF_LANE + q.
#define SUMS(name) vec4 name[QUADS_OF_SUMS]
void clear(out SUMS(sums)) {
    [[unroll]] for (uint i = 0u; i < QUADS_OF_SUMS; ++i) sums[i] = vec4(0.0);
}

// Adds up `pairs` times the rows of `others` at the places from `met` on.
void add_pairs(inout SUMS(sums), uvec2 others, uint met, uint width) {
    uint row_quads = width / 4u;
    for (uint t = 0u; t < TILE; t += SLICE) {
        barrier();
        for (uint i = lane; i < SLICE * row_quads; i += gl_WorkGroupSize.x)
            lines[i] = load4(row_address(others, MET_TYPE, met_row(met + t + i / row_quads), width), MET_TYPE, i % row_quads * 4u);
        barrier();
        [[unroll]] for (uint k = 0u; k < QUADS; ++k) {
            vec4 x[4];
            [[unroll]] for (uint r = 0u; r < 4u; ++r) x[r] = pairs[(4u * lane_y + r) * PAIR_LINE + t / 4u + k];
            [[unroll]] for (uint u = 0u; u < 4u; ++u)
                [[unroll]] for (uint q = 0u; q < QUADS_OF_LANE; ++q) {
                    vec4 y = lines[(4u * k + u) * row_quads + min(lane_x + q * SIDE, row_quads - 1u)];
                    [[unroll]] for (uint r = 0u; r < 4u; ++r)
                        sums[r * QUADS_OF_LANE + q] = fma(vec4(x[r][u]), y, sums[r * QUADS_OF_LANE + q]);
                }
        }
    }
}

// Of own row 4 lane_y + r, `factor` times its sums, as a row of `to`.
void store_sums(SUMS(sums), uint r, uvec2 to, uint width, float factor) {
    uvec2 row = row_address(to, OWN_TYPE, own_row(4u * lane_y + r), width);
    [[unroll]] for (uint q = 0u; q < QUADS_OF_LANE; ++q) {
        uint d = 4u * (lane_x + q * SIDE);
        if (d < width) store4(row, OWN_TYPE, d, factor * sums[r * QUADS_OF_LANE + q]);
    }
}
// The same of the first `rows` own rows.
void store_all(SUMS(sums), uint rows, uvec2 to, uint width, float factor) {
    [[unroll]] for (uint r = 0u; r < 4u; ++r)
        if (4u * lane_y + r < rows) store_sums(sums, r, to, width, factor);
}
