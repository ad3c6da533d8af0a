// count_loss: adds a micro-batch and its loss, which was multiplied by the loss scale, to the current step.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 1, local_size_x_id = 0) in;
#include "params/train.h"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { CountLossParams p; };

void main() {
    float done = ReadFloats(p.train).at[TRAIN_MICRO];
    float loss = ReadFloats(p.loss).at[0] / ReadFloats(p.train).at[TRAIN_SCALE];
    Floats(p.result).at[TRAIN_LOSS] = done == 0.0 ? loss : ReadFloats(p.train).at[TRAIN_LOSS] + loss;
    Floats(p.result).at[TRAIN_MICRO] = done + 1.0;
}
