// rope: rotates the first `rotary` features of every row by the angles of its position,
//   a' = a cos - b sin,  b' = b cos + a sin,
// where (a, b) are features (i, i + rotary/2), or (2i, 2i + 1) when interleaved. The others are copied.
// rope_write is the same with a row of the cache as its target: token r of a sequence goes to row position + r of its
// cache, padding goes nowhere.
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
#include "lib/rows.glsl"
#include "lib/cache.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { RopeParams p; };

bool interleaved = p.interleaved != 0u, to_cache = p.cache_rows != 0u;

void rotate(uint x, Row y, uint table, uint i) {
    uint first = interleaved ? 2u * i : i, second = interleaved ? first + STEP : i + p.rotary / 2u;
    vec4 c = load_step(p.table, F32, table + i), s = load_step(p.table, F32, table + p.rotary / 2u + i);
    if (p.inverse != 0u) s = -s;
    vec4 a = load_step(p.x, X_TYPE, x + first), b = load_step(p.x, X_TYPE, x + second), left, right;
    if (interleaved && STEP == 4u) {  // a = pairs i, i + 1; b = pairs i + 2, i + 3
        left = a * c.xxyy + vec4(-a.y, a.x, -a.w, a.z) * s.xxyy;
        right = b * c.zzww + vec4(-b.y, b.x, -b.w, b.z) * s.zzww;
    } else {
        left = a * c - b * s;
        right = b * c + a * s;
    }
    store_step(y.address, Y_TYPE, y.begin + first, left);
    store_step(y.address, Y_TYPE, y.begin + second, right);
}

void main() {
    uint turns = p.rotary / 2u / STEP, per_row = turns + (p.dim - p.rotary) / STEP, i = invocation_index();
    if (per_row == 0u || i / per_row >= p.rows) return;
    uint row = i / per_row, unit = i % per_row;
    uint token = p.heads_first != 0u ? row % p.tokens : row / p.heads % p.tokens;
    uint lane = p.sequences > 1u ? row / (p.tokens * p.heads) : 0u;
    uvec2 step = step_of(p.step, lane);
    uint position = present(p.positions) ? ReadWords(p.positions).at[token] : position_of(step, token);
    Row y = Row(p.y, row * p.dim);
    if (to_cache) {
        if (!is_valid(step, token) || position >= p.cache_rows) return;
        y = row_of(p.y, Y_TYPE, cache_row(sequence_of(p.step, lane), p.cache_rows, position), p.heads * p.dim);
        y.begin += row % p.heads * p.dim;
    }
    uint first = unit < turns ? unit * STEP : p.rotary + (unit - turns) * STEP;
    if (unit >= turns) {
        store_step(y.address, Y_TYPE, y.begin + first, load_step(p.x, X_TYPE, row * p.dim + first));
    } else if (position < p.table_rows) {
        rotate(row * p.dim, y, position * p.rotary, first);
    } else {
        store_step(y.address, Y_TYPE, y.begin + (interleaved ? 2u * first : first), vec4(0.0));
        store_step(y.address, Y_TYPE, y.begin + (interleaved ? 2u * first + STEP : first + p.rotary / 2u), vec4(0.0));
    }
}
