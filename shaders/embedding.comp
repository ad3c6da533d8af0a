// embedding: y[r] = scale w[ids[r]] + positions[position_offset + r]; with a step r counts from the sequence's
// position.
//
// STEP elements of one row per invocation. Padding, ids outside the vocabulary and positions outside their table give
// rows of zeros: nothing is read out of bounds, and what follows stays finite.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/embedding.h"
EMBEDDING_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/rows.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { EmbeddingParams p; };

void main() {
    uint per_row = p.width / STEP, i = invocation_index();
    if (per_row == 0u || i / per_row >= p.rows) return;
    uint r = i / per_row, col = i % per_row * STEP, lane = r / p.rows_each, own = r % p.rows_each;
    uvec2 step = step_of(p.step, lane);
    uint place = position_of(step, own), position = place + p.position_offset;
    bool known = is_valid(step, own) && place < p.id_count && (!present(p.positions) || position < p.position_rows);
    uint id = known ? ReadWords(p.ids).at[sequence_of(p.step, lane) * p.id_stride + place] : 0xffffffffu;
    vec4 value = vec4(0.0);
    if (id < p.vocab) {  // a negative id is a large one
        Row row = row_of(p.w, W_TYPE, id, p.width);
        value = p.scale * load_step(row.address, W_TYPE, row.begin + col);
        if (present(p.positions)) value += load_step(p.positions, POSITION_TYPE, position * p.width + col);
    }
    store_step(p.y, Y_TYPE, r * p.width + col, value);
}
