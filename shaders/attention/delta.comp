// attention_backward, before all else: of each row lse and delta = dout · o - dlse, side by side, and behind all rows the
// words of dropout. An invocation a row.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/attention_backward.h"
ATTENTION_DELTA_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/storage.glsl"
#include "lib/index.glsl"
#include "params/dropout.h"
layout(push_constant) uniform Push { AttentionDeltaParams p; };

void main() {
    uint row = invocation_index();
    if (row == 0u && present(p.dropout))
        for (uint i = 0u; i < DROPOUT_WORDS; ++i) Words(p.stats).at[2u * p.rows + i] = ReadWords(p.dropout).at[i];
    if (row >= p.rows) return;
    float delta = 0.0;
    for (uint e = 0u; e < DV; ++e) delta += load(p.dout, Q_TYPE, row * DV + e) * load(p.o, Q_TYPE, row * DV + e);
    if (present(p.dlse)) delta -= ReadFloats(p.dlse).at[row];
    Floats(p.stats).at[2u * row] = ReadFloats(p.lse).at[row];
    Floats(p.stats).at[2u * row + 1u] = delta;
}
