// The inside of a matrix product by register tiles, c = a b. A workgroup of SIDE_X * SIDE_Y invocations makes a tile of
// SIDE_Y * EACH_ROWS rows and SIDE_X * EACH_COLS columns; each invocation keeps EACH_ROWS x EACH_COLS of it in
// registers.
//
// Slices of 4 QUADS elements of k go through shared memory, four neighbours along k as one vec4, so that every transfer
// has 16 bytes. A line (a row of a, a column of b) takes an odd number of vec4s: neighbouring lanes then meet different
// banks. With PREFETCH the next slice is on its way from memory, into registers, while this one is multiplied. A second
// place for it in shared memory would save one of two barriers a slice, and cost a third to a half of the workgroups
// that a processor holds at once.
//
// The including kernel declares local_size and the constants named above, and says what its tile is made of, 0 beyond
// the edges: vec4 tile_a_at(uint row, uint k) and vec4 tile_b_at(uint k, uint col), elements k … k + 3; A_BY_LINES and
// B_BY_LINES: whether those four are neighbours in memory, so that neighbouring lanes read neighbouring addresses.
// Loops over registers are unrolled and have no branch inside: else some compilers keep the arrays in memory.
#extension GL_EXT_control_flow_attributes : require

const uint TILE_ROWS = SIDE_Y * EACH_ROWS, TILE_COLS = SIDE_X * EACH_COLS;
const uint COL_QUADS = EACH_COLS / 4u, LINE = QUADS | 1u;
const uint FETCH_A = EACH_ROWS * QUADS / SIDE_X, FETCH_B = EACH_COLS * QUADS / SIDE_Y;  // vec4s per invocation
shared vec4 lines_a[TILE_ROWS * LINE];
shared vec4 lines_b[TILE_COLS * LINE];
vec4 sums[EACH_ROWS * COL_QUADS];  // i COL_QUADS + q: row tile_row(i), columns tile_col(q) … tile_col(q) + 3
vec4 next_a[FETCH_A], next_b[FETCH_B];

uint lane_x = gl_LocalInvocationID.x % SIDE_X, lane_y = gl_LocalInvocationID.x / SIDE_X;

// This invocation's rows are lane_y + i SIDE_Y, its columns 4 lane_x … 4 lane_x + 3 of each band of 4 SIDE_X columns:
// so it stores 16 bytes at a time. In shared memory the four columns of a lane are SIDE_X lines apart.
uint tile_row(uint i) { return lane_y + i * SIDE_Y; }
uint tile_col(uint quad) { return 4u * (lane_x + quad * SIDE_X); }
uint line_of_col(uint col) {
    uint band = col / (4u * SIDE_X), within = col % (4u * SIDE_X);
    return (band * 4u + within % 4u) * SIDE_X + within / 4u;
}

// Item f of those that this invocation fetches: line and vec4 along k.
uvec2 item_of(uint f, uint lines, bool by_lines) {
    uint i = gl_LocalInvocationID.x + f * SIDE_X * SIDE_Y;
    return by_lines ? uvec2(i / QUADS, i % QUADS) : uvec2(i % lines, i / lines);
}

void fetch_slice(uint k0) {
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        uvec2 item = item_of(f, TILE_ROWS, A_BY_LINES);
        next_a[f] = tile_a_at(item.x, k0 + 4u * item.y);
    }
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        uvec2 item = item_of(f, TILE_COLS, B_BY_LINES);
        next_b[f] = tile_b_at(k0 + 4u * item.y, item.x);
    }
}
void put_slice() {
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        uvec2 item = item_of(f, TILE_ROWS, A_BY_LINES);
        lines_a[item.x * LINE + item.y] = next_a[f];
    }
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        uvec2 item = item_of(f, TILE_COLS, B_BY_LINES);
        lines_b[line_of_col(item.x) * LINE + item.y] = next_b[f];
    }
}

void multiply_slice() {
    uint a0 = lane_y * LINE, b0 = lane_x * LINE;
    [[dont_unroll]] for (uint k = 0u; k < QUADS; ++k) {
        mat4 b[COL_QUADS];  // column i: element i of k, of four columns of the tile
        [[unroll]] for (uint q = 0u; q < COL_QUADS; ++q)
            b[q] = transpose(mat4(lines_b[b0 + (q * 4u) * SIDE_X * LINE + k], lines_b[b0 + (q * 4u + 1u) * SIDE_X * LINE + k],
                                  lines_b[b0 + (q * 4u + 2u) * SIDE_X * LINE + k], lines_b[b0 + (q * 4u + 3u) * SIDE_X * LINE + k]));
        [[unroll]] for (uint i = 0u; i < EACH_ROWS; ++i) {
            vec4 a = lines_a[a0 + i * SIDE_Y * LINE + k];
            [[unroll]] for (uint q = 0u; q < COL_QUADS; ++q) {
                sums[i * COL_QUADS + q] += a.x * b[q][0];
                sums[i * COL_QUADS + q] += a.y * b[q][1];
                sums[i * COL_QUADS + q] += a.z * b[q][2];
                sums[i * COL_QUADS + q] += a.w * b[q][3];
            }
        }
    }
}

// Fills `sums` over k from `begin` to `end`.
void multiply_tile(uint begin, uint end) {
    [[unroll]] for (uint i = 0u; i < EACH_ROWS * COL_QUADS; ++i) sums[i] = vec4(0.0);
    if (PREFETCH) fetch_slice(begin);
    for (uint k0 = begin; k0 < end; k0 += 4u * QUADS) {
        if (!PREFETCH) fetch_slice(k0);
        put_slice();
        barrier();
        if (PREFETCH && k0 + 4u * QUADS < end) fetch_slice(k0 + 4u * QUADS);
        multiply_slice();
        barrier();
    }
}

// Sum i, for loops that cannot be unrolled: chosen without an index.
vec4 sum_at(uint i) {
    vec4 value = vec4(0.0);
    [[unroll]] for (uint j = 0u; j < EACH_ROWS * COL_QUADS; ++j) value = i == j ? sums[j] : value;
    return value;
}
