// dropout: y = x / (1 - probability), or x times 0 where the number drawn for the element says so.
//
// The number is counted, not kept: Philox of (row, column / 4, site, micro-batch) gives those of four columns. An
// invocation makes these. The backward pass draws them again.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/dropout.h"
#include "params/train.h"
DROPOUT_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/rows.glsl"
#include "lib/index.glsl"
#include "lib/random.glsl"
layout(push_constant) uniform Push { DropoutParams p; };

uint count_of(int word) { return present(p.train) ? uint(ReadFloats(p.train).at[word]) : 0u; }

void main() {
    uint per_row = (p.width + 3u) / 4u;
    if (invocation_index() >= p.rows * per_row) return;  // before the divisions: it may be 0
    uint row = invocation_index() / per_row, group = invocation_index() % per_row;
    uint micro_batch = count_of(TRAIN_STEP) * p.micro_batches + count_of(TRAIN_MICRO);
    uvec4 drawn = philox(uvec4(row, group, p.site, micro_batch), uvec2(p.seed_low, p.seed_high));
    Row x = row_of(p.x, X_TYPE, row, p.width), y = row_of(p.y, X_TYPE, row, p.width);
    for (uint i = 0u; i < 4u && 4u * group + i < p.width; ++i) {
        uint col = 4u * group + i;
        float factor = drawn[i] < p.threshold ? 0.0 : p.factor;
        store(y.address, X_TYPE, y.begin + col, factor * load(x.address, X_TYPE, x.begin + col));
    }
}
