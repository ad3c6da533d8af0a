// attention: o_i = sum_j p_ij v_j,  p_ij = exp(s_ij - lse_i),  lse_i = ln sum_j exp(s_ij),  s_ij = scale q_i k_j and
// the rules.
//
// Flash attention: keys come in tiles, and each row keeps a running maximum m, denominator l and sum; the matrix of
// weights is never stored. A workgroup takes ROWS rows of one key head: queries and, with grouped heads, the heads that
// share it, so that a key is read once for all of them. In a tile each lane scores one key; then lanes take the value's
// features. With SPLIT keys per workgroup (few queries) it leaves sums, maxima and denominators to
// attention/reduce_splits.comp. Maxima start from a finite minimum, so that no inf - inf arises; a row that sees
// nothing gives o = 0 and lse = -inf. With STATISTICS it leaves what entropies are made from, too
// (lib/row_statistics.glsl), in place of the log-sum-exps. Windows, masks, biases and sinks: lib/attention_rules.glsl.
// Tiles of keys that a causal mask, a window or a block mask hides from all rows of the workgroup are not visited, nor
// are keys of other residue classes (lib/attention_rows.glsl). Of a union this is one part, which leaves sums, too.
// Dropout is of the weights that values are multiplied by, not of the denominator.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/attention.h"
ATTENTION_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/cache.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"
#include "lib/row_statistics.glsl"
layout(push_constant) uniform Push { AttentionParams p; };
#include "lib/attention_rows.glsl"
#include "lib/dropout.glsl"

const uint LANES = gl_WorkGroupSize.x;
shared float queries[ROWS * D];
shared float weights[ROWS * LANES];
const uint VALUES = WIDE == 8u ? 4u : 1u;  // on their way at the same time

uint lane = gl_LocalInvocationID.x;
// The place of the first key beyond the global ones that a row of this workgroup sees.
uint first_seen(uint sees[ROWS]) {
    uint begin = NO_LIMIT;
    for (uint r = 0u; r < ROWS; ++r)
        if (sees[r] > 0u) begin = min(begin, place_of(window_begin(position_of(r))));
    return begin;
}

vec4 query4(uint i) { return vec4(queries[i], queries[i + 1u], queries[i + 2u], queries[i + 3u]); }
void scores(uint key, out float s[ROWS]) {
    for (uint r = 0u; r < ROWS; ++r) s[r] = 0.0;
    if (is_quantized(KV_TYPE)) {
        uint first = key_row(key) * D;
        [[dont_unroll]] for (uint d = 0u; d < D; d += QUANT_BLOCK) {
            float scale = block_scale(p.k, KV_TYPE, first + d);
            [[dont_unroll]] for (uint quad = 0u; quad < 8u; ++quad) {
                uint at = d + 4u * quad;
                vec4 k = scale * quants_of_block(p.k, KV_TYPE, first + d, quad);
                for (uint r = 0u; r < ROWS; ++r) {
                    vec4 q = query4(r * D + at);
                    s[r] += ADDITIVE ? additive_part(q, k, at, 4u) : dot(q, k);
                }
            }
        }
        return;
    }
    uvec2 row = row_address(p.k, KV_TYPE, key_row(key), D);
    if (WIDE > 1u) {
        // unrolled, its loads in flight cost more registers than some devices have, and compile times double
        [[dont_unroll]] for (uint d = 0u; d < D; d += WIDE) {
            vec4 low, high;
            if (WIDE == 8u) load8(row, KV_TYPE, d, low, high);
            else low = load4(row, KV_TYPE, d);
            for (uint r = 0u; r < ROWS; ++r) {
                vec4 q = query4(r * D + d);
                s[r] += ADDITIVE ? additive_part(q, low, d, 4u) : dot(q, low);
                if (WIDE < 8u) continue;
                q = query4(r * D + d + 4u);
                s[r] += ADDITIVE ? additive_part(q, high, d + 4u, 4u) : dot(q, high);
            }
        }
    } else {
        uint first = key_row(key) * D;
        for (uint d = 0u; d < D; ++d) {
            float k = load(p.k, KV_TYPE, first + d);
            for (uint r = 0u; r < ROWS; ++r)
                s[r] += ADDITIVE ? additive_part(vec4(queries[r * D + d]), vec4(k), d, 1u) : queries[r * D + d] * k;
        }
    }
}

void main() {
    if (batch >= p.batch) return;
    uint rows_valid = valid_rows(own_step, p.n), keys_valid = keys_there();
    uint sees[ROWS], last = 0u;
    for (uint r = 0u; r < ROWS; ++r) {
        sees[r] = visible(r, rows_valid, keys_valid);
        last = max(last, sees[r]);
    }
    uint first = SPLIT > 0u ? place_of(gl_WorkGroupID.x * SPLIT) : 0u, real = rows_among(rows_valid);
    if (SPLIT > 0u) last = min(last, place_of(gl_WorkGroupID.x * SPLIT + SPLIT));

    for (uint i = lane; i < ROWS * D; i += LANES) {
        uint r = i / D;
        queries[i] = query_of(r) < p.n ? p.scale * load(p.q, Q_TYPE, result_row(r) * D + i % D) : 0.0;
    }
    float maximum[ROWS], denominator[ROWS], drop[ROWS], sums[ROWS][EACH];
    uint scored = 0u;
    for (uint r = 0u; r < ROWS; ++r) {
        maximum[r] = LOWEST;
        denominator[r] = drop[r] = 0.0;
        for (uint e = 0u; e < EACH; ++e) sums[r][e] = 0.0;
    }
    uint begin = RULES ? first_seen(sees) : 0u;
    barrier();
    for (uint tile = first; tile < last; tile += LANES) {
        if (RULES && tile >= GLOBAL && tile + LANES <= begin) tile += (begin - tile) / LANES * LANES;  // to the window
        if (tile >= last) break;
        uint place = tile + lane, key = key_at(min(place, last - 1u)), count = min(LANES, last - tile);
        if (RULES && !tile_is_shown(tile, tile + count, max(real, 1u) - 1u)) continue;
        scored += count;
        float s[ROWS];
        scores(key, s);
        for (uint r = 0u; r < ROWS; ++r) {
            bool seen = place < min(sees[r], last);
            if (RULES && seen) {
                int i = position_of(r);
                s[r] = ruled_score(s[r], batch, sequence, head_of(r), query_of(r), i, key);
                seen = rules_allow(sequence, i, key) && !(s[r] <= LOWEST);  // NaN stays
            }
            float peak = max(maximum[r], workgroup_max(seen ? s[r] : LOWEST));
            float weight = seen ? exp(s[r] - peak) : 0.0;
            if (STATISTICS && seen && isnan(s[r])) weight = s[r];  // not every device's exp keeps it
            float shrink = exp(maximum[r] - peak);
            if (STATISTICS)
                drop[r] = drop_moved(drop[r], denominator[r], maximum[r], peak) * shrink
                        + workgroup_sum(weight == 0.0 ? 0.0 : weight * (s[r] - peak));
            weights[r * LANES + lane] = DROPOUT ? weight * kept(p.step, result_row(r), key) : weight;
            denominator[r] = denominator[r] * shrink + workgroup_sum(weight);
            maximum[r] = peak;
            for (uint e = 0u; e < EACH; ++e) sums[r][e] *= shrink;
        }
        barrier();
        for (uint j = 0u; j < count; j += VALUES) {  // after the last one weights are 0
            for (uint e = 0u; e < EACH; ++e) {
                uint d = lane + e * LANES;
                if (d >= DV) break;
                float v[VALUES];
                [[unroll]] for (uint u = 0u; u < VALUES; ++u) v[u] = load(p.v, KV_TYPE, key_row(key_at(min(tile + j + u, last - 1u))) * DV + d);
                for (uint r = 0u; r < ROWS; ++r)
                    [[unroll]] for (uint u = 0u; u < VALUES; ++u) sums[r][e] += weights[r * LANES + j + u] * v[u];
            }
        }
        barrier();
    }
    for (uint r = 0u; r < ROWS; ++r) {
        if (query_of(r) >= p.n) break;
        uint row = result_row(r), slot = partial_slot(row);
        if (COUNTS) {
            maximum[r] = 0.0;
            denominator[r] = float(scored);
        }
        if (lane == 0u && (PARTIAL || STATISTICS)) {
            const uint each = STATISTICS ? 3u : 2u;
            Floats(p.lse).at[slot * each] = maximum[r];
            Floats(p.lse).at[slot * each + 1u] = denominator[r];
            if (STATISTICS) Floats(p.lse).at[slot * each + 2u] = drop[r];
        }
        if (PARTIAL) {
            for (uint e = 0u; e < EACH; ++e)
                if (lane + e * LANES < DV) Floats(p.o).at[slot * DV + lane + e * LANES] = sums[r][e];
        } else {
            float shrink = with_sink(maximum[r], denominator[r], p.sinks, head_of(r));
            float over = denominator[r] > 0.0 ? shrink / denominator[r] : 0.0;
            for (uint e = 0u; e < EACH; ++e)
                if (lane + e * LANES < DV) store(p.o, Q_TYPE, row * DV + lane + e * LANES, sums[r][e] * over);
            if (lane > 0u || STATISTICS) continue;
            Floats(p.lse).at[row] = denominator[r] == 0.0 ? uintBitsToFloat(0xff800000u) : maximum[r] + log(denominator[r]);
        }
    }
}
