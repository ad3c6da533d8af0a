// Cells of a tile as tile.comp makes them, keys by position, for cells that cover many weights: keys stream past rows
// that are kept in registers.
//
// An invocation owns EACH neighbouring rows, whose queries are in its registers. The keys are the same for all lanes,
// and each number of a key that is read meets EACH queries: reads are what this costs, on CPU devices above all. A
// workgroup takes LANES * EACH rows at a time and makes STRIP neighbouring cells of a row of cells; of small cells
// several rows. Sums over a cell's keys are the lane's own; lanes join theirs once, at the end. No level of the pyramid
// below is needed, and none is made.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#ifdef USE_SUBGROUP
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/view.h"
VIEW_STREAM_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"
layout(push_constant) uniform Push { ViewTileParams t; };
#include "lib/view_weights.glsl"
#include "lib/cells.glsl"

const uint LANES = gl_WorkGroupSize.x, ROWS = LANES * EACH, QUADS = D / 4u, STRIP = STREAM_STRIP;
shared vec2 parts[STRIP * LANES];
uint lane = gl_LocalInvocationID.x;

vec4 query[EACH * QUADS];
float lse[EACH], row_factor[EACH];

vec2 joined(vec2 a, vec2 b) { return vec2(a.x + b.x, max(a.y, b.y)); }

// Rows `first` to first + EACH - 1, as far as they are before `end`.
void load_rows(uint first, uint end) {
    [[unroll]] for (uint r = 0u; r < EACH; ++r) {
        uint row = min(first + r, end - 1u), row_of_q = cache_head_row(0u, p.n, row, t.head, p.heads);
        uvec2 from = row_address(p.q, Q_TYPE, row_of_q, D);
        [[unroll]] for (uint d = 0u; d < QUADS; ++d) query[r * QUADS + d] = featured(load4(from, Q_TYPE, 4u * d));
        lse[r] = ReadFloats(p.lse).at[row_of_q];
        row_factor[r] = factor(t.row_factors, row);
    }
}

#ifdef USE_SUBGROUP
// A workgroup is one subgroup: each lane reads a part of the keys, and all lanes have it from there.
const uint PARTS = (KEYS * QUADS + LANES - 1u) / LANES;
vec4 read[PARTS];
#endif

uvec2 key_address(uint key) {
    return row_address(p.k, K_TYPE, cache_head_row(0u, p.m, key, t.head / (p.heads / p.kv_heads), p.kv_heads), D);
}
// Keys `key` to key + KEYS - 1, as far as they are before `end`.
void load_keys(uint key, uint end) {
#ifdef USE_SUBGROUP
    [[unroll]] for (uint i = 0u; i < PARTS; ++i) {
        uint quad = i * LANES + lane;
        read[i] = featured(load4(key_address(min(key + quad / QUADS, end - 1u)), K_TYPE, 4u * (quad % QUADS)));
    }
#endif
}
// Four numbers of the c-th of them.
vec4 key_quad(uint key, uint end, uint c, uint d) {
#ifdef USE_SUBGROUP
    return subgroupShuffle(read[(c * QUADS + d) / LANES], (c * QUADS + d) % LANES);
#else
    return featured(load4(key_address(min(key + c, end - 1u)), K_TYPE, 4u * d));
#endif
}

// The sum and the largest of this lane's rows [begin, end) with the keys [key, keys_end) of one cell.
vec2 cell_of_lane(uint first, uint begin, uint end, uint key, uint keys_end) {
    vec2 own = vec2(0.0);
    for (; key < keys_end; key += KEYS) {
        load_keys(key, keys_end);
        float s[EACH * KEYS];
        [[unroll]] for (uint i = 0u; i < EACH * KEYS; ++i) s[i] = 0.0;
        [[unroll]] for (uint d = 0u; d < QUADS; ++d)
            [[unroll]] for (uint c = 0u; c < KEYS; ++c) {
                vec4 k = key_quad(key, keys_end, c, d);
                [[unroll]] for (uint r = 0u; r < EACH; ++r) {
                    vec4 q = query[r * QUADS + d];
                    s[r * KEYS + c] = fma(q.x, k.x, fma(q.y, k.y, fma(q.z, k.z, fma(q.w, k.w, s[r * KEYS + c]))));
                }
            }
        [[unroll]] for (uint c = 0u; c < KEYS; ++c) {
            if (key + c >= keys_end) break;
            float by_key = factor(t.key_factors, key + c);
            [[unroll]] for (uint r = 0u; r < EACH; ++r) {
                uint row = first + r;
                if (row < begin || row >= end || !tap_sees(int(row), key + c)) continue;
                TappedWeight weight = tapped_weight_of(s[r * KEYS + c], lse[r], t.head, row, int(row), key + c);
                float value = weight.seen ? weight.value * row_factor[r] * by_key : 0.0;
                if (present(t.distance_means)) {
                    float mean = ReadFloats(t.distance_means).at[row + p.m - key - c];
                    value = mean > 0.0 ? value / mean : 0.0;
                }
                own = joined(own, vec2(value));
            }
        }
    }
    return own;
}

void main() {
    uint size = 1u << t.level, cell_rows = max(ROWS / size, 1u), strips = TILE_CELLS / STRIP;
    uint first_cell = (t.begin - t.first_row) / size + workgroup_index() / strips * cell_rows;
    uint first = t.first_row + first_cell * size, begin = max(first, t.begin), end = min(first + cell_rows * size, t.end);
    uint first_column = workgroup_index() % strips * STRIP, left = t.first_column + first_column * size;
    if (begin >= end) return;
    vec2 own[STRIP];
    [[unroll]] for (uint s = 0u; s < STRIP; ++s) own[s] = vec2(0.0);
    for (uint chunk = first + (begin - first) / ROWS * ROWS; chunk < end; chunk += ROWS) {
        uint last = min(chunk + ROWS, end) - 1u;
        uint seen_from = RULES && GLOBAL == 0u ? window_begin(int(max(chunk, begin))) : 0u;
        uint seen_to = p.causal != 0u ? min(t.keys, max(last + 1u, PREFIX)) : t.keys;
        if (left >= seen_to || left + STRIP * size <= seen_from) continue;
        load_rows(chunk + lane * EACH, end);
        [[dont_unroll]] for (uint s = 0u; s < STRIP; ++s) {
            uint key = left + s * size;
            vec2 cell = cell_of_lane(chunk + lane * EACH, begin, end, max(key, seen_from), min(key + size, seen_to));
            [[unroll]] for (uint i = 0u; i < STRIP; ++i) own[i] = i == s ? joined(own[i], cell) : own[i];
        }
    }
    uint share = min(size / EACH, LANES), part = lane % share;  // lanes of one row of cells
    [[unroll]] for (uint s = 0u; s < STRIP; ++s) parts[s * LANES + lane] = own[s];
    for (uint half_of = share / 2u; half_of > 0u; half_of /= 2u) {
        barrier();
        if (part >= half_of) continue;
        [[unroll]] for (uint s = 0u; s < STRIP; ++s) {
            own[s] = joined(own[s], parts[s * LANES + lane + half_of]);
            parts[s * LANES + lane] = own[s];
        }
    }
    uint cell_row = first_cell + lane / share, own_first = t.first_row + cell_row * size;
    if (part > 0u || own_first >= end || own_first + size <= begin) return;
    [[unroll]] for (uint s = 0u; s < STRIP; ++s)
        put_cell(cell_row * TILE_CELLS + first_column + s, own_first, size, own[s]);
}
