// accumulate: sum += x; sum = x for the first micro-batch of a step.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/train.h"
#include "lib/storage.glsl"
#include "lib/index.glsl"
layout(push_constant) uniform Push { AccumulateParams p; };

void main() {
    uint i = invocation_index() * 4u;
    bool first = ReadFloats(p.train).at[TRAIN_MICRO] == 0.0;  // what a skipped step left is not read: it may be NaN
    if (i + 4u <= p.count) {
        vec4 x = load4(p.x, F32, i);
        store4(p.result, F32, i, first ? x : load4(p.sum, F32, i) + x);
    } else {
        for (; i < p.count; ++i) store(p.result, F32, i, first ? load(p.x, F32, i) : load(p.sum, F32, i) + load(p.x, F32, i));
    }
}
