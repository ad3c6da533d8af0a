// The inside of a matrix product c = a bᵀ of lines that lie along k, rows of a and columns of b, whose elements are
// multiplied some to a word: bytes or halves. A workgroup of 16 x 16 lanes makes a tile; a lane EACH_ROWS x 4 cells of
// it, four neighbouring columns each.
//
// 32 bytes of each line, DEPTH elements, go through shared memory at a time, and 16 more with their scale: so
// neighbouring lanes meet different banks. The next ones are on their way from memory while these are multiplied.
//
// The including kernel says what a line is: uvec4 half_of_a(uint row, uint k, uint part) and half_of_b(uint col, uint
// k, uint part), the first or second half of elements k … k + DEPTH - 1, rows and columns counted within the tile; with
// SCALED float scale_of_a(uint row, uint k) and scale_of_b(uint col, uint k); and float add_products(float sum, uvec4 a0,
// uvec4 a1, uvec4 b0, uvec4 b1), which adds the products of the words of both to a sum.
#extension GL_EXT_control_flow_attributes : require

const uint SIDE = 16u, LANES = SIDE * SIDE, TILE_ROWS = SIDE * EACH_ROWS, TILE_COLS = SIDE * 4u;
const uint HALVES = 2u * (TILE_ROWS + TILE_COLS), FETCH = (HALVES + LANES - 1u) / LANES, LINE = 3u;
shared uvec4 lines[(TILE_ROWS + TILE_COLS) * LINE];  // of a, then of b: the four columns of a lane are SIDE lines apart
uvec4 next[FETCH];
float next_scale[FETCH];
vec4 sums[EACH_ROWS];

uint lane = gl_LocalInvocationID.x, lane_x = lane % SIDE, lane_y = lane / SIDE;
uint tile_row(uint i) { return lane_y + i * SIDE; }
uint col_of_line(uint line) { return line % SIDE * 4u + line / SIDE; }

void fetch_lines(uint k) {
    [[unroll]] for (uint f = 0u; f < FETCH; ++f) {
        uint i = lane + f * LANES, line = i / 2u, part = i % 2u;
        // where all lanes have lines of one factor, the compiler sees it
        bool of_a = (f + 1u) * LANES <= 2u * TILE_ROWS || (f * LANES < 2u * TILE_ROWS && line < TILE_ROWS);
        if (of_a) {
            next[f] = half_of_a(line, k, part);
            if (SCALED) next_scale[f] = scale_of_a(line, k);
        } else {
            uint col = col_of_line(line - TILE_ROWS);
            next[f] = half_of_b(col, k, part);
            if (SCALED) next_scale[f] = scale_of_b(col, k);
        }
    }
}
void put_lines() {
    [[unroll]] for (uint f = 0u; f < FETCH; ++f) {
        uint i = lane + f * LANES, line = i / 2u, part = i % 2u;
        if (HALVES % LANES != 0u && i >= HALVES) break;
        lines[line * LINE + part] = next[f];
        if (SCALED && part == 0u) lines[line * LINE + 2u].x = floatBitsToUint(next_scale[f]);
    }
}
float scale_at(uint line) { return SCALED ? uintBitsToFloat(lines[line + 2u].x) : 1.0; }

void multiply_lines() {
    uvec4 first[4], second[4];
    vec4 scale;
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
        uint at = (TILE_ROWS + c * SIDE + lane_x) * LINE;
        first[c] = lines[at], second[c] = lines[at + 1u], scale[c] = scale_at(at);
    }
    [[unroll]] for (uint i = 0u; i < EACH_ROWS; ++i) {
        uint at = tile_row(i) * LINE;
        uvec4 a0 = lines[at], a1 = lines[at + 1u];
        vec4 cells;
        [[unroll]] for (uint c = 0u; c < 4u; ++c)
            cells[c] = add_products(SCALED ? 0.0 : sums[i][c], a0, a1, first[c], second[c]);
        sums[i] = SCALED ? sums[i] + scale_at(at) * scale * cells : cells;
    }
}

// Fills `sums` over k from `begin` to `end`.
void multiply_tile(uint begin, uint end) {
    [[unroll]] for (uint i = 0u; i < EACH_ROWS; ++i) sums[i] = vec4(0.0);
    fetch_lines(begin);
    put_lines();
    barrier();
    for (uint k = begin; k < end; k += DEPTH) {
        bool more = k + DEPTH < end;
        if (more) fetch_lines(k + DEPTH);
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
