// attention_backward (backward.comp has the formulas), without rules but the causal one and packed documents, for
// devices whose lanes are those of a CPU's vectors.
//
// An invocation owns a row (BY_KEY: a key) with its gradients, all in registers. The keys (rows) that it meets are the
// same for all lanes, so each number of them is read once and broadcast into an fma; four of them at a time, so that
// several chains of fma run in parallel. Nothing is shared and nothing is summed up over lanes.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#include "params/attention_backward.h"
ATTENTION_BACKWARD_CONSTANTS(VANTAGE_CONSTANT)
layout(push_constant) uniform Push { AttentionBackwardParams p; };
#include "lib/attention_rules.glsl"
#include "lib/index.glsl"
#include "lib/dropout.glsl"

uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;

uint row_of_query(uint batch, uint i, uint head) {
    return p.heads_first != 0u ? (batch * p.heads + head) * p.n + i : (batch * p.n + i) * p.heads + head;
}
uint row_of_key(uint batch, uint key, uint kv_head) {
    return p.heads_first != 0u ? (batch * p.kv_heads + kv_head) * p.m + key : (batch * p.m + key) * p.kv_heads + kv_head;
}
uvec2 dropout_words() { return row_address(p.stats, F32, p.batch * p.n * p.heads, 2u); }
uint keys_of(uint batch) { return present(p.kv_len) ? min(ReadWords(p.kv_len).at[batch], p.m) : p.m; }

// Of packed documents there are as many queries as keys: a token has the same place among both.
uint document_of(uint batch, uint place) { return ReadWords(p.segments).at[batch * p.m + place]; }

#ifdef BY_KEY  // of D features: k, and q of the rows; of DV: v, and dout of the rows
#define OWN_TYPE KV_TYPE
#define MET_TYPE Q_TYPE
#else
#define OWN_TYPE Q_TYPE
#define MET_TYPE KV_TYPE
#endif

vec4 own_d[D / 4u], own_dv[DV / 4u];  // q and dout of the row
vec4 sum_d[D / 4u];
#ifdef BY_KEY
vec4 sum_dv[DV / 4u];
#endif

float total(vec4 x) { return (x.x + x.y) + (x.z + x.w); }

vec4 four_products_d(uvec2 at[4]) {
    vec4 s[4] = {vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0)};
    [[unroll]] for (uint d = 0u; d < D / 4u; ++d)
        [[unroll]] for (uint j = 0u; j < 4u; ++j) s[j] = fma(own_d[d], load4(at[j], MET_TYPE, 4u * d), s[j]);
    return vec4(total(s[0]), total(s[1]), total(s[2]), total(s[3]));
}
vec4 four_products_dv(uvec2 at[4]) {
    vec4 s[4] = {vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0)};
    [[unroll]] for (uint d = 0u; d < DV / 4u; ++d)
        [[unroll]] for (uint j = 0u; j < 4u; ++j) s[j] = fma(own_dv[d], load4(at[j], MET_TYPE, 4u * d), s[j]);
    return vec4(total(s[0]), total(s[1]), total(s[2]), total(s[3]));
}

void main() {
#ifdef BY_KEY
    uint count = p.m, owners = p.kv_heads;
#else
    uint count = p.n, owners = p.heads;
#endif
    uint blocks = (count + lanes - 1u) / lanes, index = workgroup_index();
    if (index >= p.batch * owners * blocks) return;
    uint first = index % blocks * lanes, owner = index / blocks % owners, batch = index / (blocks * owners);
    uint place = first + lane, inside = min(place, count - 1u), keys = keys_of(batch), group = p.heads / p.kv_heads;
#ifdef BY_KEY
    uint own_row = row_of_key(batch, inside, owner), begin = 0u, end = first < keys ? p.n : 0u;
    if (p.causal != 0u) begin = uint(max(int(first + p.n) - int(p.m), 0));  // the query that sits at the first key
    uvec2 own_a = row_address(p.k, KV_TYPE, own_row, D), own_b = row_address(p.v, KV_TYPE, own_row, DV);
#else
    uint own_row = row_of_query(batch, inside, owner), begin = 0u, end = keys;
    int last = int(min(first + lanes, count) - 1u + p.m) - int(p.n);  // position of the last row
    if (p.causal != 0u) end = min(end, uint(max(last + 1, 0)));
    uvec2 own_a = row_address(p.q, Q_TYPE, own_row, D), own_b = row_address(p.dout, Q_TYPE, own_row, DV);
    float lse = ReadFloats(p.stats).at[2u * own_row], delta = ReadFloats(p.stats).at[2u * own_row + 1u];
#endif
    // Always 0, but compilers do not know it. What is met is used twice, and is read again through an address that seems
    // to be another one. Else all its broadcasts, hundreds of vectors, would be kept for the second use: on the stack.
    uint nothing = p.causal >> 1u;
    uint own_document = PACKED ? document_of(batch, inside) : 0u;
    // Bounds, and no test in the loop: drivers for CPUs may run through a body that no lane takes part in.
    if (PACKED) {
        uvec2 places = places_of_documents(batch, first, min(first + lanes, count) - 1u);
        begin = max(begin, places.x / 4u * 4u), end = min(end, places.y);
    }
    [[unroll]] for (uint d = 0u; d < D / 4u; ++d) {
        own_d[d] = load4(own_a, OWN_TYPE, 4u * d);
        sum_d[d] = vec4(0.0);
    }
    [[unroll]] for (uint d = 0u; d < DV / 4u; ++d) {
        own_dv[d] = load4(own_b, OWN_TYPE, 4u * d);
#ifdef BY_KEY
        sum_dv[d] = vec4(0.0);
#endif
    }
#ifdef BY_KEY
    for (uint head = owner * group; head < (owner + 1u) * group; ++head)
#endif
        for (uint met = begin; met < end; met += 4u) {
            uint last_met = min(met + 3u, end - 1u);
            uvec2 at_d[4], at_dv[4];
            vec4 lses, deltas;
            [[unroll]] for (uint j = 0u; j < 4u; ++j) {
                uint other = min(met + j, last_met);
#ifdef BY_KEY
                uint row = row_of_query(batch, other, head);
                at_d[j] = row_address(p.q, Q_TYPE, row, D);
                at_dv[j] = row_address(p.dout, Q_TYPE, row, DV);
                lses[j] = ReadFloats(p.stats).at[2u * row];
                deltas[j] = ReadFloats(p.stats).at[2u * row + 1u];
#else
                uint row = row_of_key(batch, other, owner / group);
                at_d[j] = row_address(p.k, KV_TYPE, row, D);
                at_dv[j] = row_address(p.v, KV_TYPE, row, DV);
                lses[j] = lse;
                deltas[j] = delta;
#endif
            }
            vec4 factors = vec4(1.0);
            if (DROPOUT) {
#ifdef BY_KEY
                [[unroll]] for (uint j = 0u; j < 4u; ++j)
                    factors[j] = kept(dropout_words(), row_of_query(batch, min(met + j, last_met), head), place);
#else
                factors = four_kept(dropout_words(), own_row, met / 4u);
#endif
            }
            vec4 scores = p.scale * four_products_d(at_d), dp = four_products_dv(at_dv), weights, dt;
            [[unroll]] for (uint j = 0u; j < 4u; ++j) {
#ifdef BY_KEY
                uint key = place, i = met + j;
#else
                uint key = met + j, i = place;
#endif
                bool seen = met + j < end && place < count && key < keys && (p.causal == 0u || int(key) <= int(i + p.m) - int(p.n));
                if (PACKED) seen = seen && document_of(batch, min(met + j, last_met)) == own_document;
                weights[j] = seen ? exp(scores[j] - lses[j]) : 0.0;
                dt[j] = weights[j] * (factors[j] * dp[j] - deltas[j]);
                weights[j] *= factors[j];
            }
            [[unroll]] for (uint j = 0u; j < 4u; ++j) {
                at_d[j].x += nothing;
                at_dv[j].x += nothing;
            }
            [[unroll]] for (uint d = 0u; d < D / 4u; ++d)
                [[unroll]] for (uint j = 0u; j < 4u; ++j) sum_d[d] = fma(vec4(dt[j]), load4(at_d[j], MET_TYPE, 4u * d), sum_d[d]);
#ifdef BY_KEY
            [[unroll]] for (uint d = 0u; d < DV / 4u; ++d)
                [[unroll]] for (uint j = 0u; j < 4u; ++j) sum_dv[d] = fma(vec4(weights[j]), load4(at_dv[j], MET_TYPE, 4u * d), sum_dv[d]);
#endif
        }
    if (place >= count) return;
    uvec2 result = row_address(p.first, OWN_TYPE, own_row, D);
    [[unroll]] for (uint d = 0u; d < D / 4u; ++d) store4(result, OWN_TYPE, 4u * d, p.scale * sum_d[d]);
#ifdef BY_KEY
    uvec2 values = row_address(p.second, OWN_TYPE, own_row, DV);
    [[unroll]] for (uint d = 0u; d < DV / 4u; ++d) store4(values, OWN_TYPE, 4u * d, sum_dv[d]);
#endif
}
