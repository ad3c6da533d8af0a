// attention (flash.comp has the formulas) by tiles in shared memory and registers, for many rows.
//
// A workgroup takes TILE rows of one key head and meets the keys TILE at a time: products by register tiles, then the
// running maximum and denominator of each row, then the weights times the values (lib/attention_tiles.glsl). A row
// belongs to the SIDE lanes with the same lane_y; each keeps the denominator of its own keys, and they are added up in
// the end. Rules, rows and their order: lib/attention_rows.glsl.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/attention.h"
ATTENTION_TILED_CONSTANTS(VANTAGE_CONSTANT)
layout(push_constant) uniform Push { AttentionParams p; };
const uint ROWS = 64u, SPLIT = 0u;
#include "lib/attention_rows.glsl"
#include "lib/dropout.glsl"
#include "lib/sinks.glsl"

#define OWN_TYPE Q_TYPE
#define MET_TYPE KV_TYPE
uint there = rows_among(p.n), last_key;  // rows of the workgroup; the last place that one of them sees
uint own_row(uint line) { return result_row(min(line, there - 1u)); }
uint met_row(uint place) { return key_row(key_at(min(place, last_key))); }
#include "lib/attention_tiles.glsl"

shared vec4 of_rows[gl_WorkGroupSize.x];  // a number of each of a lane's rows

vec4 row_maxima(vec4 own) {
    of_rows[lane] = own;
    barrier();
    [[unroll]] for (uint i = 0u; i < SIDE; ++i) own = max(own, of_rows[lane_y * SIDE + i]);
    return own;
}
vec4 row_sums(vec4 own) {
    barrier();
    of_rows[lane] = own;
    barrier();
    vec4 sum = vec4(0.0);
    [[unroll]] for (uint i = 0u; i < SIDE; ++i) sum += of_rows[lane_y * SIDE + i];
    return sum;
}

// Applies the rules to the scores of a lane's 16 pairs, whose first key is at `place`. A hidden pair gets LOWEST. A loop
// keeps the pipeline short: the rules are long.
void apply_rules(uint place) {
    put_pairs(products);
    [[dont_unroll]] for (uint i = 0u; i < 16u; ++i) {
        uint row = 4u * lane_y + i / 4u, at = row * PAIR_LINE + lane_x;
        float score = pairs[at][i % 4u];
        if (score <= LOWEST) continue;
        uint key = key_at(place + i % 4u);
        int position = position_of(row);
        score = ruled_score(score, batch, sequence, head_of(row), query_of(row), position, key);
        pairs[at][i % 4u] = rules_allow(sequence, position, key) ? score : LOWEST;
    }
    get_pairs(products);
}

void main() {
    if (batch >= p.batch || there == 0u) return;
    uint rows_valid = valid_rows(own_step, p.n), keys_valid = keys_there(), end = 0u;
    uvec4 sees;
    [[unroll]] for (uint r = 0u; r < 4u; ++r) sees[r] = visible(4u * lane_y + r, rows_valid, keys_valid);
    // what the first and the last row see is the same for all lanes
    uint last = max(rows_among(rows_valid), 1u) - 1u;
    end = max(visible(0u, rows_valid, keys_valid), visible(last, rows_valid, keys_valid));
    if (GLOBAL > 0u && position_of(0u) < int(GLOBAL)) end = place_of(keys_valid);  // a row between them may be global
    last_key = max(end, 1u) - 1u;
    uint begin = RULES ? place_of(window_begin(position_of(0u))) : 0u, scored = 0u;
    SUMS(sums);
    clear(sums);
    vec4 maximum = vec4(LOWEST), denominator = vec4(0.0);
    for (uint tile = 0u; tile < end; tile += TILE) {
        if (RULES && tile >= GLOBAL && tile + TILE <= begin) tile += (begin - tile) / TILE * TILE;  // to the window
        if (RULES && tile >= end) break;
        if (RULES && !tile_is_shown(tile, min(tile + TILE, end), last)) continue;
        if (COUNTS) scored += min(TILE, end - tile);
        multiply(p.q, p.k, tile, D);
        uint place = tile + 4u * lane_x;
        vec4 peak = maximum;
        [[unroll]] for (uint r = 0u; r < 4u; ++r)
            [[unroll]] for (uint c = 0u; c < 4u; ++c)
                products[r][c] = place + c < min(sees[r], end) ? p.scale * products[r][c] : LOWEST;
        if (RULES) apply_rules(place);
        [[unroll]] for (uint r = 0u; r < 4u; ++r)
            peak[r] = max(peak[r], max(max(products[r].x, products[r].y), max(products[r].z, products[r].w)));
        peak = row_maxima(peak);
        vec4 shrink = exp(maximum - peak), total = vec4(0.0);
        [[unroll]] for (uint r = 0u; r < 4u; ++r) {
            [[unroll]] for (uint c = 0u; c < 4u; ++c) products[r][c] = products[r][c] <= LOWEST ? 0.0 : exp(products[r][c] - peak[r]);  // NaN stays
            total[r] = (products[r].x + products[r].y) + (products[r].z + products[r].w);
            if (DROPOUT) {
                uint row = own_row(4u * lane_y + r);
                if (EVERY_KEY) products[r] *= four_kept(p.step, row, place / 4u);
                else [[unroll]] for (uint c = 0u; c < 4u; ++c) products[r][c] *= kept(p.step, row, key_at(place + c));
            }
            [[unroll]] for (uint q = 0u; q < QUADS_OF_LANE; ++q) sums[r * QUADS_OF_LANE + q] *= shrink[r];
        }
        denominator = denominator * shrink + total;
        maximum = peak;
        put_pairs(products);
        add_pairs(sums, p.v, tile, DV);
    }
    denominator = row_sums(denominator);
    if (COUNTS) {
        maximum = vec4(0.0);
        denominator = vec4(float(scored));
    }
    [[unroll]] for (uint r = 0u; r < 4u; ++r) {
        uint row = 4u * lane_y + r;
        if (row >= there) break;
        float shrink = with_sink(maximum[r], denominator[r], p.sinks, head_of(row));
        store_sums(sums, r, p.o, DV, denominator[r] > 0.0 ? shrink / denominator[r] : 0.0);
        if (lane_x == 0u)
            Floats(p.lse).at[own_row(row)] = denominator[r] == 0.0 ? uintBitsToFloat(0xff800000u) : maximum[r] + log(denominator[r]);
    }
}
