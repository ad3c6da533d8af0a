// attention: o_i = sum_j p_ij v_j,  p_ij = exp(s_ij - lse_i),  lse_i = ln sum_j exp(s_ij), for devices whose lanes are
// those of a CPU's vectors (flash.comp is the form for GPUs).
//
// An invocation owns a row: its query, its running maximum m and denominator l, and its sum, all in registers. Keys and
// values are the same for all lanes, so each number of them is read once and broadcast into an fma; a tile of KEYS keys
// at a time, since m, l and the sum move once for each tile. Nothing is shared and nothing is summed up over lanes.
// Dependent fma are kept in chains of at most eight, so that several run in parallel. Maxima start from a finite
// minimum; a row that sees nothing gives o = 0 and lse = -inf. Rules: lib/attention_rules.glsl. Tiles that a causal
// mask, a window or a block mask hides from all rows are not visited, nor are keys of other residue classes. Of a union
// this is one part, which leaves its sums, maxima and denominators to attention/reduce_splits.comp.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#include "params/attention.h"
ATTENTION_CPU_SIMD_CONSTANTS(VANTAGE_CONSTANT)
layout(push_constant) uniform Push { AttentionParams p; };
const uint SPLIT = 0u, ROWS = gl_WorkGroupSize.x;
#include "lib/attention_rows.glsl"
#include "lib/dropout.glsl"
#include "lib/sinks.glsl"

uint lane = gl_LocalInvocationID.x;

vec4 query[D / 4u];

// Scores of four keys: a part of the query that was fetched meets all of them.
vec4 four_scores(uvec2 k0, uvec2 k1, uvec2 k2, uvec2 k3) {
    vec4 s0 = vec4(0.0), s1 = s0, s2 = s0, s3 = s0;
    [[unroll]] for (uint first = 0u; first < D / 4u; first += 8u) {
        vec4 p0 = vec4(0.0), p1 = p0, p2 = p0, p3 = p0;
        [[unroll]] for (uint d = first; d < min(first + 8u, D / 4u); ++d) {
            p0 = fma(query[d], load4(k0, KV_TYPE, 4u * d), p0);
            p1 = fma(query[d], load4(k1, KV_TYPE, 4u * d), p1);
            p2 = fma(query[d], load4(k2, KV_TYPE, 4u * d), p2);
            p3 = fma(query[d], load4(k3, KV_TYPE, 4u * d), p3);
        }
        s0 += p0;
        s1 += p1;
        s2 += p2;
        s3 += p3;
    }
    return vec4((s0.x + s0.y) + (s0.z + s0.w), (s1.x + s1.y) + (s1.z + s1.w), (s2.x + s2.y) + (s2.z + s2.w), (s3.x + s3.y) + (s3.z + s3.w));
}

void main() {
    uint rows_valid = valid_rows(own_step, p.n), keys_valid = keys_there(), there = rows_among(p.n);
    if (there == 0u) return;  // the class has fewer queries than others
    uint i = query_of(lane), head = head_of(lane), sees = visible(lane, rows_valid, keys_valid);
    int position = position_of(lane);
    // what the first and the last real row of the workgroup see is the same for all lanes
    uint last = max(rows_among(rows_valid), 1u) - 1u;
    uint end = max(visible(0u, rows_valid, keys_valid), visible(last, rows_valid, keys_valid));
    if (GLOBAL > 0u && position_of(0u) < int(GLOBAL)) end = place_of(keys_valid);  // a row between them may be global
    uint last_place = max(end, 1u) - 1u;  // keys are loaded also where no lane wants them: there is one
    uint begin = RULES ? place_of(window_begin(position_of(0u))) : 0u, scored = 0u;
    // Packed documents set bounds too: drivers for CPUs may run through the body of a tile that no lane takes part in.
    if (PACKED && p.m > 0u) {
        uvec2 at = uvec2(clamp(ivec2(position_of(0u), position_of(last)), 0, int(p.m) - 1));
        uvec2 places = places_of_documents(sequence, at.x, at.y);
        begin = max(begin, place_of(places.x)), end = min(end, place_of(places.y));
    }

    vec4 sums[DV / 4u];
    uint row = result_row(min(lane, there - 1u));
    [[unroll]] for (uint d = 0u; d < D / 4u; ++d) query[d] = p.scale * load4(row_address(p.q, Q_TYPE, row, D), Q_TYPE, 4u * d);
    [[unroll]] for (uint d = 0u; d < DV / 4u; ++d) sums[d] = vec4(0.0);
    float maximum = LOWEST, denominator = 0.0;
    for (uint tile = 0u; tile < end; tile += KEYS) {
        if (RULES && tile >= GLOBAL && tile + KEYS <= begin) tile += (begin - tile) / KEYS * KEYS;  // to the window
        if (RULES && tile >= end) break;
        if (RULES && !tile_is_shown(tile, min(tile + KEYS, end), last)) continue;
        if (COUNTS) scored += min(KEYS, end - tile);
        float s[KEYS], peak = maximum;
        bool seen[KEYS];
        uvec2 rows[KEYS];
        [[unroll]] for (uint j = 0u; j < KEYS; ++j) rows[j] = row_address(p.k, KV_TYPE, key_row(key_at(min(tile + j, last_place))), D);
        [[unroll]] for (uint j = 0u; j < KEYS; j += 4u) {
            vec4 four = four_scores(rows[j], rows[j + 1u], rows[j + 2u], rows[j + 3u]);
            [[unroll]] for (uint i = 0u; i < 4u; ++i) s[j + i] = four[i];
        }
        [[unroll]] for (uint j = 0u; j < KEYS; ++j) {
            uint key = key_at(min(tile + j, last_place));
            seen[j] = tile + j < sees;
            if (RULES && seen[j]) {
                s[j] = ruled_score(s[j], batch, sequence, head, i, position, key);
                seen[j] = rules_allow(sequence, position, key) && !(s[j] <= LOWEST);  // NaN stays
            }
            peak = max(peak, seen[j] ? s[j] : LOWEST);
        }
        float shrink = exp(maximum - peak), total = 0.0;
        [[unroll]] for (uint j = 0u; j < KEYS; ++j) {
            s[j] = seen[j] ? exp(s[j] - peak) : 0.0;
            total += s[j];
        }
        denominator = denominator * shrink + total;
        maximum = peak;
        if (DROPOUT) {  // no rules but documents, so a tile begins with a multiple of four
            [[unroll]] for (uint j = 0u; j < KEYS; j += 4u) {
                vec4 factors = four_kept(p.step, row, (tile + j) / 4u);
                [[unroll]] for (uint i = 0u; i < 4u; ++i) s[j + i] *= factors[i];
            }
        }
        [[unroll]] for (uint j = 0u; j < KEYS; ++j) rows[j] = row_address(p.v, KV_TYPE, key_row(key_at(min(tile + j, last_place))), DV);
        [[unroll]] for (uint line = 0u; line < DV / 4u; line += 4u) {  // 64 bytes of all values after each other
            [[unroll]] for (uint d = line; d < min(line + 4u, DV / 4u); ++d) sums[d] *= shrink;
            [[unroll]] for (uint j = 0u; j < KEYS; ++j)
                [[unroll]] for (uint d = line; d < min(line + 4u, DV / 4u); ++d)
                    sums[d] = fma(vec4(s[j]), load4(rows[j], KV_TYPE, 4u * d), sums[d]);
        }
    }
    if (i >= p.n) return;
    if (COUNTS) {
        maximum = 0.0;
        denominator = float(scored);
    }
    if (PARTIAL) {
        uint slot = partial_slot(row);
        Floats(p.lse).at[slot * 2u] = maximum;
        Floats(p.lse).at[slot * 2u + 1u] = denominator;
        [[unroll]] for (uint d = 0u; d < DV; d += 4u) store4(p.o, F32, slot * DV + d, sums[d / 4u]);
        return;
    }
    float shrink = with_sink(maximum, denominator, p.sinks, head), over = denominator > 0.0 ? shrink / denominator : 0.0;
    uvec2 o = row_address(p.o, Q_TYPE, row, DV);
    [[unroll]] for (uint d = 0u; d < DV / 4u; ++d) store4(o, Q_TYPE, 4u * d, sums[d] * over);
    Floats(p.lse).at[row] = denominator == 0.0 ? uintBitsToFloat(0xff800000u) : maximum + log(denominator);
}
