// What the kernels of attention on matrix units share (attention/coopmat.comp, attention/coopmat2.comp): rows, tiles of
// keys and values in shared memory, and how results leave.
//
// A workgroup takes ROWS rows of one key head, queries and the heads that share it, so that a tile of KEYS keys, and
// then of their values, is read once for all of them; the next one is on its way meanwhile. Matrices are M x N x K;
// STRIPES subgroups along the rows keep M rows each, and SHARES of them divide a stripe's keys and features. The
// including kernel declares those constants and SCORE_STRIDE: vectors of 16 bytes from one row of `scores` to the next.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#include "lib/fp16.glsl"
#include "lib/sinks.glsl"
#include "params/attention.h"
layout(push_constant) uniform Push { AttentionParams p; };
const uint ROWS = STRIPES * M, SPLIT = 0u;
#include "lib/attention_rows.glsl"

const uint LANES = gl_WorkGroupSize.x, LANES_OF_ROW = LANES / ROWS;
// Widths in whole matrices; strides in vectors of 16 bytes, odd against bank conflicts.
const uint WIDTH = (D + K - 1u) / K * K, WIDTH_V = (DV + SHARES * N - 1u) / (SHARES * N) * SHARES * N;
const uint QUERY_STRIDE = WIDTH / 8u + 1u, TILE_STRIDE = (WIDTH > WIDTH_V ? WIDTH : WIDTH_V) / 8u + 1u, FACTOR_STRIDE = N / 4u + 1u;
const uint KEY_MATRICES = KEYS / (SHARES * N), VALUE_MATRICES = WIDTH_V / (SHARES * N);  // of a subgroup
shared uvec4 queries[ROWS * QUERY_STRIDE];
shared uvec4 tile[KEYS * TILE_STRIDE];       // keys, then their values
shared uvec4 scores[ROWS * SCORE_STRIDE];    // in the end sums, f32
shared uvec4 factors[ROWS * FACTOR_STRIDE];  // of each row, N times
const uint FETCH = (KEYS * (TILE_STRIDE - 1u) + LANES - 1u) / LANES;
uvec4 next[FETCH];
coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> sums[VALUE_MATRICES];

const float UNSEEN = -3.4e38;  // so far below LOWEST that its exponential is 0, too, where a row has seen nothing

uint lane = gl_LocalInvocationID.x, row = lane / LANES_OF_ROW;
uint stripe = gl_SubgroupID / SHARES, share = gl_SubgroupID % SHARES;
uint rows_valid = valid_rows(own_step, p.n), keys_valid = keys_there();
uint real = rows_among(rows_valid);  // rows of queries that there are
// End of the places that this workgroup sees. Later queries see more keys, but there may be global rows, which see all.
bool maybe_global = GLOBAL > 0u && position_of(0u) < int(GLOBAL);
uint last = real == 0u   ? 0u
          : maybe_global ? place_of(keys_valid)
                         : max(visible(0u, rows_valid, keys_valid), visible(real - 1u, rows_valid, keys_valid));
uint begin = RULES ? place_of(window_begin(position_of(0u))) : 0u;

uint keys_of_row(uint r) { return r < real ? min(visible(r, rows_valid, keys_valid), last) : 0u; }

void fetch_tile(uvec2 address, uint first, uint width, uint all, uint step) {
    [[unroll]] for (uint f = 0u; f < FETCH; ++f) {
        uint i = lane + f * LANES, place = first + i / (all / 8u), at = i % (all / 8u) * 8u;
        next[f] = uvec4(0u);
        if (place < min(last, first + KEYS))
            next[f] = load_line(row_address(address, KV_TYPE, key_row(key_at(place)), width), KV_TYPE, 0u, at, width, step);
    }
}
void put_tile(uint all) {
    [[unroll]] for (uint f = 0u; f < FETCH; ++f) {
        uint i = lane + f * LANES;
        if (i < KEYS * (all / 8u)) tile[i / (all / 8u) * TILE_STRIDE + i % (all / 8u)] = next[f];
    }
}

// The first tile from `from` on that somebody may see: between the global keys and the window lies nothing.
uint skip(uint from, uint begin) {
    if (RULES && from >= GLOBAL && from + KEYS <= begin) from += (begin - from) / KEYS * KEYS;
    if (PACKED)
        while (from < last && !tile_is_shown(from, min(from + KEYS, last), max(real, 1u) - 1u)) from += KEYS;
    return from;
}

void load_queries() {
    for (uint i = lane; i < ROWS * (WIDTH / 8u); i += LANES) {
        uint r = i / (WIDTH / 8u), at = i % (WIDTH / 8u) * 8u;
        uvec4 value = uvec4(0u);
        if (r < real) value = load_line(row_address(p.q, Q_TYPE, result_row(r), D), Q_TYPE, 0u, at, D, STEP_D);
        queries[r * QUERY_STRIDE + i % (WIDTH / 8u)] = value;
    }
}

// `sums` of rows with these maxima and denominators become results, or those of a part; a row's lanes know its own.
void store_rows(float maximum, float denominator) {
    float shrink = PARTIAL ? 1.0 : with_sink(maximum, denominator, p.sinks, head_of(row));
    if (lane % LANES_OF_ROW == 0u) {
        float over = PARTIAL ? 1.0 : denominator > 0.0 ? shrink / denominator : 0.0;
        factors[row * FACTOR_STRIDE] = floatBitsToUint(vec4(over));
        uint slot = 2u * partial_slot(result_row(row));
        if (query_of(row) < p.n && PARTIAL) {
            Floats(p.lse).at[slot] = maximum;
            Floats(p.lse).at[slot + 1u] = denominator;
        } else if (query_of(row) < p.n)
            Floats(p.lse).at[result_row(row)] = denominator == 0.0 ? uintBitsToFloat(0xff800000u) : maximum + log(denominator);
    }
    // One matrix of each subgroup at a time.
    const uint QUADS = SHARES * N / 4u;
    [[dont_unroll]] for (uint j = 0u; j < VALUE_MATRICES; ++j) {
        [[unroll]] for (uint i = 0u; i < VALUE_MATRICES; ++i)
            if (i == j) coopMatStore(sums[i], scores, stripe * M * SCORE_STRIDE + share * N / 4u, SCORE_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
        barrier();
        for (uint i = lane; i < ROWS * QUADS; i += LANES) {
            uint r = i / QUADS, quad = i % QUADS, at = (quad / (N / 4u) * VALUE_MATRICES + j) * N + quad % (N / 4u) * 4u;
            if (query_of(r) >= p.n || at >= DV) continue;
            vec4 value = uintBitsToFloat(scores[r * SCORE_STRIDE + quad]) * uintBitsToFloat(factors[r * FACTOR_STRIDE].x);
            uint type = PARTIAL ? F32 : Q_TYPE, first_of_row = (PARTIAL ? partial_slot(result_row(r)) : result_row(r)) * DV + at;
            if (DV % 4u == 0u)
                store4(p.o, type, first_of_row, value);
            else
                for (uint e = 0u; e < min(4u, DV - at); ++e) store(p.o, type, first_of_row + e, value[e]);
        }
        barrier();
    }
}
