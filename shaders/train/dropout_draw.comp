// dropout_draw: what a kernel draws by that drops elements itself, for the current micro-batch. One invocation.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 1, local_size_x_id = 0) in;
#include "params/dropout.h"
#include "params/train.h"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { DropoutDrawParams p; };

uint count_of(int word) { return present(p.train) ? uint(ReadFloats(p.train).at[word]) : 0u; }

void main() {
    if (gl_GlobalInvocationID != uvec3(0u)) return;
    Words words = Words(p.words);
    words.at[DROPOUT_SEED_LOW] = p.seed_low;
    words.at[DROPOUT_SEED_HIGH] = p.seed_high;
    words.at[DROPOUT_SITE] = p.site;
    words.at[DROPOUT_MICRO_BATCH] = count_of(TRAIN_STEP) * p.micro_batches + count_of(TRAIN_MICRO);
    words.at[DROPOUT_THRESHOLD] = p.threshold;
    words.at[DROPOUT_FACTOR] = floatBitsToUint(p.factor);
    for (uint i = DROPOUT_FACTOR + 1u; i < DROPOUT_WORDS; ++i) words.at[i] = 0u;
}
