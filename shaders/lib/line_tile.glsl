// The inside of a matrix product c = a bᵀ of lines that lie along k, rows of a and columns of b, whose elements are
// multiplied some to a word: bytes or halves. A workgroup of 16 x 16 lanes makes a tile; a lane EACH_ROWS x 4 cells of
// it, four neighbouring columns each.
//
// 32 bytes of each line, DEPTH elements, go through shared memory at a time, 48 bytes apart: so neighbouring lanes meet
// different banks. The next ones are on their way from memory while these are multiplied.
//
// The including kernel says what a line is: uint begin_of_a(uint row) and begin_of_b(uint col), the element where it
// begins, rows and columns counted within the tile; uvec4 half_of_a(uint begin, uint k, uint part) and half_of_b, the
// first or second half of elements k … k + DEPTH - 1; with SCALED float scale_of_a(uint begin, uint k) and scale_of_b;
// and float add_products(float sum, uvec4 a0, uvec4 a1, uvec4 b0, uvec4 b1), which adds the products of the words of both
// to a sum.
#extension GL_EXT_control_flow_attributes : require

const uint SIDE = 16u, LANES = SIDE * SIDE, TILE_ROWS = SIDE * EACH_ROWS, TILE_COLS = SIDE * 4u;
const uint HALVES = 2u * (TILE_ROWS + TILE_COLS), FETCH = (HALVES + LANES - 1u) / LANES, LINE = 3u;
// Of a, then of b: the rows and columns of a lane are SIDE lines apart.
shared uvec4 lines[(TILE_ROWS + TILE_COLS) * LINE];
shared float scales[SCALED ? TILE_ROWS + TILE_COLS : 1u];
// Computed once: where the lines begin that this lane fetches halves of, where it puts them, and its own lines.
uint from[FETCH], put_at, own_a, own_b;
uvec4 next[FETCH];
float next_scale[FETCH];
vec4 sums[EACH_ROWS];

uint lane = gl_LocalInvocationID.x, lane_x = lane % SIDE, lane_y = lane / SIDE;
uint tile_row(uint i) { return lane_y + i * SIDE; }
uint col_of_line(uint line) { return line % SIDE * 4u + line / SIDE; }

uint own_line(uint f) { return lane / 2u + f * LANES / 2u; }
// Where all lanes have lines of one factor, the compiler sees it.
bool is_of_a(uint f) {
    return (f + 1u) * LANES <= 2u * TILE_ROWS || (f * LANES < 2u * TILE_ROWS && own_line(f) < TILE_ROWS);
}
void begin_lines() {
    own_a = lane_y * LINE, own_b = (TILE_ROWS + lane_x) * LINE, put_at = lane / 2u * LINE + lane % 2u;
    [[unroll]] for (uint f = 0u; f < FETCH; ++f)
        from[f] = is_of_a(f) ? begin_of_a(own_line(f)) : begin_of_b(col_of_line(own_line(f) - TILE_ROWS));
}
void fetch_lines(uint k) {
    [[unroll]] for (uint f = 0u; f < FETCH; ++f) {
        if (is_of_a(f)) {
            next[f] = half_of_a(from[f], k, lane % 2u);
            if (SCALED) next_scale[f] = scale_of_a(from[f], k);
        } else {
            next[f] = half_of_b(from[f], k, lane % 2u);
            if (SCALED) next_scale[f] = scale_of_b(from[f], k);
        }
    }
}
void put_lines() {
    [[unroll]] for (uint f = 0u; f < FETCH; ++f) {
        if (HALVES % LANES != 0u && lane + f * LANES >= HALVES) break;
        lines[put_at + f * LANES / 2u * LINE] = next[f];
        if (SCALED && lane % 2u == 0u) scales[own_line(f)] = next_scale[f];
    }
}

void multiply_lines() {
    uvec4 first[4], second[4];
    vec4 scale;
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
        uint at = own_b + c * SIDE * LINE;
        first[c] = lines[at], second[c] = lines[at + 1u];
        if (SCALED) scale[c] = scales[TILE_ROWS + c * SIDE + lane_x];
    }
    [[unroll]] for (uint i = 0u; i < EACH_ROWS; ++i) {
        uint at = own_a + i * SIDE * LINE;
        uvec4 a0 = lines[at], a1 = lines[at + 1u];
        vec4 cells;
        [[unroll]] for (uint c = 0u; c < 4u; ++c)
            cells[c] = add_products(SCALED ? 0.0 : sums[i][c], a0, a1, first[c], second[c]);
        sums[i] = SCALED ? sums[i] + scales[i * SIDE + lane_y] * scale * cells : cells;
    }
}

// Fills `sums` over k from `begin` to `end`.
void multiply_tile(uint begin, uint end) {
    [[unroll]] for (uint i = 0u; i < EACH_ROWS; ++i) sums[i] = vec4(0.0);
    begin_lines();
    fetch_lines(begin);
    put_lines();
    barrier();
    for (uint k = begin; k < end; k += DEPTH) {
        bool more = k + DEPTH < end;
        fetch_lines(more ? k + DEPTH : k);  // without a branch: it would take copies
        multiply_lines();
        barrier();
        if (more) put_lines();
        barrier();
    }
}

// Sum i, for loops that cannot be unrolled: chosen without an index.
vec4 sum_at(uint i) {
    vec4 value = vec4(0.0);
    [[unroll]] for (uint j = 0u; j < EACH_ROWS; ++j) value = i == j ? sums[j] : value;
    return value;
}
