// rope: rotates the first `rotary` features of every row by the angles of its position,
//   a' = a cos - b sin,  b' = b cos + a sin,
// where (a, b) are features (i, i + rotary/2), or (2i, 2i + 1) when interleaved. The others are copied.
// rope_write is the same with a row of the cache as its target: token r of a sequence goes to row position + r of its
// cache, padding goes nowhere. With JOINT it also rotates the queries and copies the values into their cache: of a
// token's heads those of the queries come first, then those of the keys, then those of the values.
//
// The table holds cos and sin made on the host in double: Vulkan's own are only good to 2^-11.
// An invocation turns STEP pairs, or copies STEP features, of one row. Positions that the table does not have give
// zeros.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/rope.h"
ROPE_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/rotation.glsl"
#include "lib/rows.glsl"
#include "lib/cache.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { RopeParams p; };

bool interleaved = p.interleaved != 0u;

// One head of one token: where it comes from and goes to, and whether it goes to a cache and is turned.
struct Head {
    Row from, to;
    bool to_cache, turns;
};

vec4 load(Head head, uint at) { return load_step(head.from.address, X_TYPE, head.from.begin + at); }
void store(Head head, uint at, vec4 values) {
    if (head.to_cache) store_step(head.to.address, Y_TYPE, head.to.begin + at, values);
    else store_step(head.to.address, X_TYPE, head.to.begin + at, values);
}
uint first_of(uint i) { return interleaved ? 2u * i : i; }
uint second_of(uint i) { return interleaved ? 2u * i + STEP : i + p.rotary / 2u; }

// Pairs i to i + STEP.
void rotate(Head head, uint table, uint i) {
    vec4 c = load_step(p.table, F32, table + i), s = load_step(p.table, F32, table + p.rotary / 2u + i);
    if (p.inverse != 0u) s = -s;
    vec4 a = load(head, first_of(i)), b = load(head, second_of(i));
    if (interleaved && STEP == 4u) {  // a = pairs i, i + 1; b = pairs i + 2, i + 3
        vec4 left = vec4(a.xz, b.xz), right = vec4(a.yw, b.yw);
        turn(left, right, c, s);
        a = vec4(left.x, right.x, left.y, right.y), b = vec4(left.z, right.z, left.w, right.w);
    } else {
        turn(a, b, c, s);
    }
    store(head, first_of(i), a);
    store(head, second_of(i), b);
}

// Head `slot` of a token's `slots`, the row-th of all. Where it goes to a cache, `to` is its place in the cache's row.
Head head_of(uint row, uint slot, uint slots) {
    bool to_cache = p.cache_rows != 0u;
    if (JOINT == 0u) return Head(Row(p.x, row * p.dim), Row(p.y, (to_cache ? slot : row) * p.dim), to_cache, true);
    uint token = row / slots, query = token * p.q_heads + slot, key = slot - p.q_heads, value = key - p.heads;
    if (slot < p.q_heads) return Head(Row(p.q, query * p.dim), Row(p.q_out, query * p.dim), false, true);
    if (key < p.heads) return Head(Row(p.x, (token * p.heads + key) * p.dim), Row(p.y, key * p.dim), to_cache, true);
    return Head(Row(p.v, (token * p.heads + value) * p.dim), Row(p.v_state, value * p.dim), to_cache, false);
}

void main() {
    uint turns = p.rotary / 2u / STEP, per_row = turns + (p.dim - p.rotary) / STEP, i = invocation_index();
    if (per_row == 0u || i / per_row >= p.rows) return;
    uint slots = JOINT != 0u ? p.q_heads + 2u * p.heads : p.heads;
    uint row = i / per_row, unit = i % per_row, slot = row % slots;
    uint token = p.heads_first != 0u ? row % p.tokens : row / slots % p.tokens;
    uint lane = p.sequences > 1u ? row / (p.tokens * slots) : 0u;
    uvec2 step = step_of(p.step, lane);
    uint position = present(p.positions) ? ReadWords(p.positions).at[token] : position_of(step, token);
    Head head = head_of(row, slot, slots);
    if (head.to_cache) {
        if (!is_valid(step, token) || position >= p.cache_rows) return;
        Row cached = row_of(head.to.address, Y_TYPE, cache_row(sequence_of(p.step, lane), p.cache_rows, position), p.heads * p.dim);
        head.to = Row(cached.address, cached.begin + head.to.begin);
    }
    if (unit >= turns) {
        uint at = p.rotary + (unit - turns) * STEP;
        store(head, at, load(head, at));
    } else if (!head.turns) {
        store(head, first_of(unit * STEP), load(head, first_of(unit * STEP)));
        store(head, second_of(unit * STEP), load(head, second_of(unit * STEP)));
    } else if (position < p.table_rows) {
        rotate(head, position * p.rotary, unit * STEP);
    } else {
        store(head, first_of(unit * STEP), vec4(0.0));
        store(head, second_of(unit * STEP), vec4(0.0));
    }
}
