// write: state[position + r] = x[r] for the rows of each sequence that are no padding, in the state's storage type.
//
// STEP elements of one row per invocation. A row of odd width in 16 bits shares a word with its neighbour, which
// another invocation, or none, writes: `store` changes one half of it atomically.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/write.h"
WRITE_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/rows.glsl"
#include "lib/cache.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { WriteParams p; };

void main() {
    uint per_row = p.cols / STEP, i = invocation_index();
    if (per_row == 0u || i / per_row >= p.rows) return;
    uint r = i / per_row, col = i % per_row * STEP, lane = r / p.rows_each, own = r % p.rows_each;
    uvec2 step = step_of(p.step, lane);
    uint position = position_of(step, own);
    if (!is_valid(step, own) || position >= p.state_rows) return;
    Row target = row_of(p.state, STATE_TYPE, cache_row(p.by_lane != 0u ? lane : sequence_of(p.step, lane), p.state_rows, position), p.cols);
    store_step(target.address, STATE_TYPE, target.begin + col, load_step(p.x, X_TYPE, r * p.cols + col));
}
