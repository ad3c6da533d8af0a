// linear_attention_backward, before all else: of each row 1 / n and -delta / n, with its denominator n = e^lse and
// delta = dout · o - dlse. Both are 0 for a row without a denominator; without NORMALISE they are 1 and 0.
//
// An invocation a row.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/linear_attention.h"
LINEAR_ATTENTION_STATS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { LinearAttentionStatsParams p; };

void main() {
    uint row = invocation_index();
    if (row >= p.rows) return;
    float factor = 1.0, delta = 0.0;
    if (NORMALISE) {
        float lse = ReadFloats(p.lse).at[row];
        factor = lse < -3.0e38 ? 0.0 : exp(-lse);
        for (uint e = row * p.dv; e < (row + 1u) * p.dv; ++e) delta += load(p.dout, X_TYPE, e) * load(p.o, X_TYPE, e);
        if (present(p.dlse)) delta -= ReadFloats(p.dlse).at[row];
    }
    Floats(p.stats).at[2u * row] = factor;
    Floats(p.stats).at[2u * row + 1u] = -delta * factor;
}
