// split_qkv: takes the packed projection x (rows, (heads + 2 kv_heads) width) apart into the heads of q, k and v.
//
// split_qkv_write is the same with rows of the cache as targets of k and v: row r of a sequence goes to row position +
// r of its cache, padding goes nowhere.
//
// STEP elements per invocation, counted along x: reads are in order, writes are runs of `width`.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/split_qkv.h"
SPLIT_QKV_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/rows.glsl"
#include "lib/cache.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { SplitQkvParams p; };

// Puts a step of the given head, out of `heads`, into its place in q, k or v.
void put(uvec2 address, uint type, uint heads, uint head, uint row, uint d, vec4 value) {
    uint batch = row / p.rows_per_batch, r = row % p.rows_per_batch;
    uint place = p.heads_first != 0u ? (batch * heads + head) * p.rows_per_batch + r : row * heads + head;
    store_step(address, type, place * p.width + d, value);
}

void put_into_cache(uvec2 address, uint head, uint row, uint d, vec4 value) {
    uint lane = row / p.rows_each, own = row % p.rows_each;
    uvec2 step = step_of(p.step, lane);
    uint position = position_of(step, own);
    if (!is_valid(step, own) || position >= p.cache_rows) return;
    Row target = row_of(address, KV_TYPE, cache_row(sequence_of(p.step, lane), p.cache_rows, position), p.kv_heads * p.width);
    store_step(target.address, KV_TYPE, target.begin + head * p.width + d, value);
}

void main() {
    uint i = invocation_index() * STEP;
    if (i >= p.count) return;
    uint d = i % p.width, slots = p.heads + 2u * p.kv_heads, slot = (i / p.width) % slots, row = i / p.width / slots;
    vec4 value = load_step(p.x, X_TYPE, i);
    uint group = p.heads / p.kv_heads, kv_head = slot / (group + 2u), member = slot % (group + 2u);
    if (p.per_head == 0u) {  // the same three numbers for the layout of all heads
        member = slot < p.heads ? 0u : slot < p.heads + p.kv_heads ? group : group + 1u;
        kv_head = slot < p.heads ? 0u : (slot - p.heads) % p.kv_heads;
    }
    uint query_head = p.per_head == 0u ? slot : kv_head * group + member;
    if (member < group)
        put(p.q, X_TYPE, p.heads, query_head, row, d, value);
    else if (p.cache_rows != 0u)
        put_into_cache(member == group ? p.k : p.v, kv_head, row, d, value);
    else
        put(member == group ? p.k : p.v, KV_TYPE, p.kv_heads, kv_head, row, d, value);
}
