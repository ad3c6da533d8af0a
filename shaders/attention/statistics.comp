// attention, second of two where entropies are wanted: each row's log-sum-exp, entropy and largest weight, from the
// maximum and the sums that flash.comp left (lib/row_statistics.glsl). One invocation per row.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/row_statistics.glsl"
#include "params/attention.h"
layout(push_constant) uniform Push { AttentionStatisticsParams p; };

void main() {
    uint row = invocation_index();
    if (row >= p.rows) return;
    uint head = p.heads_first != 0u ? row / p.n % p.heads : row % p.heads;
    store_statistics(row, ReadFloats(p.partials).at[row * 3u], ReadFloats(p.partials).at[row * 3u + 1u],
                     ReadFloats(p.partials).at[row * 3u + 2u], p.sinks, head, p.lse, p.entropy, p.largest);
}
