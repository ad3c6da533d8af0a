// attention of few queries and many keys, split over keys, for devices whose lanes are those of a CPU's vectors
// (flash.comp is the form for GPUs, cpu_simd.comp that for many queries).
//
// A workgroup, one subgroup, takes ROWS rows of one key head and SPLIT keys, as many at a time as it has lanes. Keys and
// values are read by whole vectors of features (lib/cpu_simd.glsl), once for all rows. A butterfly of exchanges gives
// each lane the score of one key; from there on rules and the running maximum are those of flash.comp. Sums, maxima and
// denominators go to attention/reduce_splits.comp.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 8, local_size_x_id = 0) in;
#include "params/attention.h"
ATTENTION_CPU_ROWS_CONSTANTS(VANTAGE_CONSTANT)
layout(push_constant) uniform Push { AttentionParams p; };
#include "lib/attention_rows.glsl"
#include "lib/cpu_simd.glsl"

const uint EACH = D / LANES, EACH_V = DV / LANES;  // features of a lane

// The feature of a lane's element i: a word of each lane at a time, which has two of 16 bits.
uint own_feature(uint i) { return KV_TYPE == F32 ? i * LANES + lane : i / 2u * 2u * LANES + lane * 2u + i % 2u; }

// A lane's elements i and i + 1 of a row; of f32, which has one in a word, only i.
const uint PAIR = KV_TYPE == F32 ? 1u : 2u;
vec2 load_word(uint64_t address, uint i) {
    float word = load_lane_words(address, i / PAIR * LANES);
    return KV_TYPE == F32 ? vec2(word) : widen_pair(floatBitsToUint(word), KV_TYPE);
}

void main() {
    if (batch >= p.batch) return;
    uint rows_valid = valid_rows(own_step, p.n), keys_valid = keys_there();
    uint sees[ROWS], end = 0u;
    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
        sees[r] = visible(r, rows_valid, keys_valid);
        end = max(end, sees[r]);
    }
    uint begin = place_of(gl_WorkGroupID.x * SPLIT), real = rows_among(rows_valid);
    end = min(end, place_of(gl_WorkGroupID.x * SPLIT + SPLIT));

    float queries[ROWS][EACH], sums[ROWS][EACH_V], maximum[ROWS], denominator[ROWS];
    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
        uint row = min(result_row(r), p.batch * p.n * p.heads - 1u);  // also of an idle one
        [[unroll]] for (uint i = 0u; i < EACH; ++i) queries[r][i] = p.scale * load(p.q, Q_TYPE, row * D + own_feature(i));
        [[unroll]] for (uint i = 0u; i < EACH_V; ++i) sums[r][i] = 0.0;
        maximum[r] = LOWEST;
        denominator[r] = 0.0;
    }
    // rows of k and v lie at equal distances
    uint last = max(end, 1u) - 1u, next = key_row(1u) - key_row(0u);
    uint64_t k0 = address_of(p.k, KV_TYPE, uint64_t(key_row(0u)) * D), v0 = address_of(p.v, KV_TYPE, uint64_t(key_row(0u)) * DV);
    uint64_t next_k = address_of(uvec2(0u), KV_TYPE, uint64_t(next) * D), next_v = address_of(uvec2(0u), KV_TYPE, uint64_t(next) * DV);
    uint tile = begin;
    if (RULES) {  // to the window that the first row has
        uint seen_from = NO_LIMIT;
        [[unroll]] for (uint r = 0u; r < ROWS; ++r)
            seen_from = min(seen_from, mix(NO_LIMIT, place_of(window_begin(position_of(r))), sees[r] > 0u));
        if (tile >= GLOBAL && seen_from > tile) tile += min(seen_from - tile, max(end, tile) - tile) / LANES * LANES;
    }
    do {
        if (RULES && tile >= end) break;
        if (RULES && !tile_is_shown(tile, min(tile + LANES, end), max(real, 1u) - 1u)) continue;
        float parts[ROWS][LANES], weight[ROWS];
        [[unroll]] for (uint j = 0u; j < LANES; ++j) {
            uint64_t address = k0 + min(key_at(min(tile + j, last)), p.m - 1u) * next_k;
            [[unroll]] for (uint r = 0u; r < ROWS; ++r) parts[r][j] = 0.0;
            [[unroll]] for (uint i = 0u; i < EACH; i += PAIR) {
                vec2 x = load_word(address, i);
                [[unroll]] for (uint r = 0u; r < ROWS; ++r)
                    [[unroll]] for (uint e = 0u; e < PAIR; ++e) parts[r][j] = fma(queries[r][i + e], x[e], parts[r][j]);
            }
        }
        uint place = tile + lane, key = key_at(min(place, last));
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
            float s = whole_sum(parts[r]);
            bool seen = place < min(sees[r], end);
            if (RULES && seen) {
                int i = position_of(r);
                s = ruled_score(s, batch, sequence, head_of(r), query_of(r), i, key);
                seen = rules_allow(sequence, i, key) && !(s <= LOWEST);  // NaN stays
            }
            float peak = max(maximum[r], max_of_lanes(mix(LOWEST, s, seen))), shrink = power_of_2((maximum[r] - peak) * log2_e);
            weight[r] = mix(0.0, power_of_2((s - peak) * log2_e), seen);
            denominator[r] = denominator[r] * shrink + sum_of_lanes(weight[r]);
            maximum[r] = peak;
            [[unroll]] for (uint i = 0u; i < EACH_V; ++i) sums[r][i] *= shrink;
        }
        [[unroll]] for (uint j = 0u; j < LANES; ++j) {
            uint64_t address = v0 + min(key_at(min(tile + j, last)), p.m - 1u) * next_v;
            float own[ROWS];
            [[unroll]] for (uint r = 0u; r < ROWS; ++r) own[r] = subgroupShuffle(weight[r], j);
            [[unroll]] for (uint i = 0u; i < EACH_V; i += PAIR) {
                vec2 x = load_word(address, i);
                [[unroll]] for (uint r = 0u; r < ROWS; ++r)
                    [[unroll]] for (uint e = 0u; e < PAIR; ++e) sums[r][i + e] = fma(own[r], x[e], sums[r][i + e]);
            }
        }
    } while ((tile += LANES) < end);
    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
        if (query_of(r) >= p.n) break;
        uint slot = partial_slot(result_row(r));
        if (lane == 0u) {
            Floats(p.lse).at[slot * 2u] = maximum[r];
            Floats(p.lse).at[slot * 2u + 1u] = denominator[r];
        }
        [[unroll]] for (uint i = 0u; i < EACH_V; ++i) Floats(p.o).at[slot * DV + own_feature(i)] = sums[r][i];
    }
}
