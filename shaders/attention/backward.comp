// attention_backward: with t = scale q·k, c = softcap tanh(t / softcap), s = c + bias, p = exp(s - lse) as the forward
// pass had them, made again,
//   ds = p (r dout_i · v_j - delta_i),  dt = ds (1 - (c / softcap)²)
//   by row:  dq_i = scale sum_j dt k_j          by key:  dk_j = scale sum_i dt q_i,  dv_j = sum_i p r dout_i
// over the pairs that see each other, r the factor of dropout; by key also over the query heads that share the key's
// head. Nothing of n × m is stored, and nothing is added by atomics.
//
// A workgroup owns a row of a head (BY_KEY: a key). Its lanes make the scores of as many pairs at once, and then each
// adds up some features over these pairs. With BINS the gradients of scores are also summed by distance for the
// gradient of a bias (BIAS_BY_KEY: only those). Of additive scores dt takes the way through tanh.
//
// BY_DISTANCE: the gradients of distance_weights. dout has a number for each of DV distances of key and query, which
// takes the place of dout_i · v_j; there are no values, delta is 0, and stats has lse alone.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/attention_backward.h"
ATTENTION_BACKWARD_CONSTANTS(VANTAGE_CONSTANT)
layout(push_constant) uniform Push { AttentionBackwardParams p; };
#include "lib/attention_rules.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"
#include "lib/dropout.glsl"

uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
shared float tile_p[gl_WorkGroupSize.x], tile_ds[gl_WorkGroupSize.x], tile_dt[gl_WorkGroupSize.x];

uint row_of_query(uint batch, uint i, uint head) {
    return p.heads_first != 0u ? (batch * p.heads + head) * p.n + i : (batch * p.n + i) * p.heads + head;
}
uint row_of_key(uint batch, uint key, uint kv_head) {
    return p.heads_first != 0u ? (batch * p.kv_heads + kv_head) * p.m + key : (batch * p.m + key) * p.kv_heads + kv_head;
}
// lse and delta of a row, and the gradient by a weight.
#ifdef BY_DISTANCE
const uint VALUES = 0u;
vec2 stats_of(uint q_row) { return vec2(ReadFloats(p.stats).at[q_row], 0.0); }
float weight_gradient(uint q_row, uint k_row, int distance) {
    const int reach = int(DV) / 2;
    return load(p.dout, Q_TYPE, q_row * DV + uint(clamp(distance, -reach, reach) + reach));
}
#else
const uint VALUES = DV;
vec2 stats_of(uint q_row) { return vec2(ReadFloats(p.stats).at[2u * q_row], ReadFloats(p.stats).at[2u * q_row + 1u]); }
float weight_gradient(uint q_row, uint k_row, int distance) {
    float sum = 0.0;
    // Unrolled, they spill on Intel's GPUs.
    [[dont_unroll]] for (uint e = 0u; e < DV; ++e)
        sum += load(p.dout, Q_TYPE, q_row * DV + e) * load(p.v, KV_TYPE, k_row * DV + e);
    return sum;
}
#endif
uvec2 dropout_words() { return row_address(p.stats, F32, p.batch * p.n * p.heads, 2u); }
uint keys_of(uint batch) { return present(p.kv_len) ? min(ReadWords(p.kv_len).at[batch], p.m) : p.m; }
int position_of(uint i) { return int(i + p.m) - int(p.n); }

// p, ds and dt of a pair, which may not see each other: then they are 0.
vec3 pair_of(uint batch, uint head, uint i, uint key) {
    int position = position_of(i);
    if (p.causal != 0u && int(key) > position && key >= PREFIX) return vec3(0.0);
    if (RULES && !rules_allow(batch, position, key)) return vec3(0.0);
    uint q_row = row_of_query(batch, i, head), k_row = row_of_key(batch, key, head / (p.heads / p.kv_heads));
    float score = 0.0, slope = 1.0;
    [[dont_unroll]] for (uint d = 0u; d < D; ++d) {
        float q = load(p.q, Q_TYPE, q_row * D + d), k = load(p.k, KV_TYPE, k_row * D + d);
        score += ADDITIVE ? ReadFloats(p.position_bias).at[d] * stable_tanh(q + k) : q * k;
    }
    score *= p.scale;
    if (SOFTCAP > 0.0) {
        float t = stable_tanh(score / SOFTCAP);
        slope = 1.0 - t * t;
    }
    if (RULES) score = ruled_score(score, batch, batch, head, i, position, key);
    vec2 stats = stats_of(q_row);
    if (score <= LOWEST || stats.x <= LOWEST) return vec3(0.0);
    float weight = exp(score - stats.x), factor = DROPOUT ? kept(dropout_words(), q_row, key) : 1.0;
    float ds = weight * (factor * weight_gradient(q_row, k_row, int(key) - position) - stats.y);
    return vec3(factor * weight, ds, ds * slope);
}

// Where the gradient of a score belongs among the numbers of a bias.
bool in_bin(uint bin, int position, uint key) {
    return BIAS == 0u || uint(clamp(int(key) - position, -int(REACH), int(REACH)) + int(REACH)) == bin;
}
float of_bin(int position, uint key) {
    if (BIAS != 0u) return 1.0;
    int distance = int(key) - position;
    return float(p.causal != 0u ? distance : -abs(distance));
}

void put_tile(vec3 pair) {
    barrier();
    tile_p[lane] = pair.x;
    tile_ds[lane] = pair.y;
    tile_dt[lane] = pair.z;
    barrier();
}

#ifndef BY_KEY
void main() {
    uint index = workgroup_index();
    if (index >= p.batch * p.n * p.heads) return;  // before the divisions: one of these may be 0
    uint head = index % p.heads, i = index / p.heads % p.n, batch = index / p.heads / p.n;
    int position = position_of(i);
    uint row = row_of_query(batch, i, head), kv_head = head / (p.heads / p.kv_heads), end = keys_of(batch), begin = 0u;
    if (p.causal != 0u) end = min(end, max(uint(max(position + 1, 0)), PREFIX));
    if (RULES && GLOBAL == 0u) {
        begin = window_begin(position);
        end = window_end(position, end);
    }
    float dq[EACH], bins[BINS_EACH];
    for (uint e = 0u; e < EACH; ++e) dq[e] = 0.0;
    for (uint e = 0u; e < BINS_EACH; ++e) bins[e] = 0.0;
    for (uint tile = begin; tile < end; tile += lanes) {
        if (PACKED && !share_documents(batch, position, position, tile, min(tile + lanes, end) - 1u)) continue;
        put_tile(tile + lane < end ? pair_of(batch, head, i, tile + lane) : vec3(0.0));
        uint count = min(lanes, end - tile);
        for (uint e = 0u; e < EACH; ++e) {
            uint d = lane + e * lanes;
            if (d >= D) break;
            float q = ADDITIVE ? load(p.q, Q_TYPE, row * D + d) : 0.0;
            for (uint t = 0u; t < count; ++t) {
                float k = load(p.k, KV_TYPE, row_of_key(batch, tile + t, kv_head) * D + d);
                if (ADDITIVE) {
                    float f = stable_tanh(q + k);
                    dq[e] += tile_dt[t] * ReadFloats(p.position_bias).at[d] * (1.0 - f * f);
                    if (BINS > 0u) bins[e] += tile_dt[t] * f;
                } else {
                    dq[e] += tile_dt[t] * k;
                }
            }
        }
        for (uint e = 0u; e < BINS_EACH && !ADDITIVE; ++e) {
            uint bin = lane + e * lanes;
            if (bin >= BINS) break;
            for (uint t = 0u; t < count; ++t)
                if (in_bin(bin, position, tile + t)) bins[e] += tile_ds[t] * of_bin(position, tile + t);
        }
    }
    for (uint e = 0u; e < EACH; ++e)
        if (lane + e * lanes < D) store(p.first, Q_TYPE, row * D + lane + e * lanes, p.scale * dq[e]);
    for (uint e = 0u; e < BINS_EACH; ++e)
        if (lane + e * lanes < BINS) Floats(p.second).at[row * BINS + lane + e * lanes] = bins[e];
}
#else
void main() {
    uint index = workgroup_index();
    if (index >= p.batch * p.m * p.kv_heads) return;
    uint kv_head = index % p.kv_heads, key = index / p.kv_heads % p.m, batch = index / p.kv_heads / p.m;
    uint group = p.heads / p.kv_heads, row = row_of_key(batch, key, kv_head), begin = 0u, end = key < keys_of(batch) ? p.n : 0u;
    int own = int(key + p.n) - int(p.m);  // the query that sits at the key's position
    if (p.causal != 0u && key >= PREFIX) begin = uint(max(own, 0));
    if (RULES && GLOBAL == 0u && STRIDE == 0u) {
        if (WINDOW_LEFT != NO_LIMIT) end = min(end, uint(max(own + int(WINDOW_LEFT) + 1, 0)));
        if (WINDOW_RIGHT != NO_LIMIT) begin = max(begin, uint(max(own - int(WINDOW_RIGHT), 0)));
    }
    float dk[EACH], dv[EACH], bins[BINS_EACH];
    for (uint e = 0u; e < EACH; ++e) dk[e] = dv[e] = 0.0;
    for (uint e = 0u; e < BINS_EACH; ++e) bins[e] = 0.0;
    for (uint head = kv_head * group; head < (kv_head + 1u) * group; ++head) {
        float total = 0.0;
        for (uint tile = begin; tile < end; tile += lanes) {
            if (PACKED && !share_documents(batch, position_of(tile), position_of(min(tile + lanes, end) - 1u), key, key)) continue;
            vec3 pair = tile + lane < end ? pair_of(batch, head, tile + lane, key) : vec3(0.0);
            total += pair.y;
            put_tile(pair);
            uint count = min(lanes, end - tile);
#ifdef BIAS_BY_KEY
            for (uint e = 0u; e < BINS_EACH; ++e)
                for (uint t = 0u; t < count; ++t)
                    if (lane + e * lanes < BINS && in_bin(lane + e * lanes, position_of(tile + t), key)) bins[e] += tile_ds[t];
#else
            for (uint e = 0u; e < EACH; ++e) {
                uint d = lane + e * lanes;
                float k = ADDITIVE && d < D ? load(p.k, KV_TYPE, row * D + d) : 0.0;
                for (uint t = 0u; t < count; ++t) {
                    uint q_row = row_of_query(batch, tile + t, head);
                    if (d < VALUES) dv[e] += tile_p[t] * load(p.dout, Q_TYPE, q_row * DV + d);
                    if (d >= D) continue;
                    float q = load(p.q, Q_TYPE, q_row * D + d);
                    if (ADDITIVE) {
                        float f = stable_tanh(q + k);
                        q = ReadFloats(p.position_bias).at[d] * (1.0 - f * f);
                    }
                    dk[e] += tile_dt[t] * q;
                }
            }
#endif
        }
#ifdef BIAS_BY_KEY
        if (BINS == 0u) {
            total = workgroup_sum(total);
            if (lane == 0u) Floats(p.first).at[(batch * p.m + key) * p.heads + head] = total;
        }
#endif
    }
#ifdef BIAS_BY_KEY
    for (uint e = 0u; e < BINS_EACH; ++e)
        if (lane + e * lanes < BINS) Floats(p.first).at[((batch * p.m + key) * p.kv_heads + kv_head) * BINS + lane + e * lanes] = bins[e];
#else
    for (uint e = 0u; e < EACH; ++e) {
        uint d = lane + e * lanes;
        if (d < D) store(p.first, KV_TYPE, row * D + d, p.scale * dk[e]);
        if (d < VALUES) store(p.second, KV_TYPE, row * DV + d, dv[e]);
    }
#endif
}
#endif
