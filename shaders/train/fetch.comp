// fetch: the entry of a ring [entries, count] that the host wrote for the current micro-batch.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/train.h"
#include "lib/storage.glsl"
#include "lib/index.glsl"
layout(push_constant) uniform Push { FetchParams p; };

void main() {
    uint i = invocation_index();
    if (i >= p.count) return;
    uint micro = uint(ReadFloats(p.train).at[TRAIN_STEP]) * p.micro_batches + uint(ReadFloats(p.train).at[TRAIN_MICRO]);
    Words(p.result).at[i] = ReadWords(p.ring).at[(micro % p.entries) * p.count + i];
}
