// sgd: u = momentum u + (1 - dampening) g, u = g in the first update; x -= rate u, or with nesterov
// rate (g + momentum u); g with weight decay. Without momentum x -= rate g.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/train.h"
#include "lib/storage.glsl"
#include "lib/index.glsl"
layout(push_constant) uniform Push { SgdParams p; };

float word(uint i) { return ReadFloats(p.train).at[i]; }

void main() {
    if (word(TRAIN_SKIP) != 0.0) return;
    for (uint i = invocation_index() * 4u, end = min(i + 4u, p.count); i < end; ++i) {
        float x = load(p.x, F32, i);
        precise float g = load(p.gradient, F32, i) * word(TRAIN_GRADIENT_FACTOR) + p.decay * x, step = g;
        if (p.momentum > 0.0) {
            precise float u = word(TRAIN_UPDATES) <= 1.0 ? g : p.momentum * load(p.velocity, F32, i) + (1.0 - p.dampening) * g;
            store(p.new_velocity, F32, i, u);
            step = p.nesterov != 0u ? g + p.momentum * u : u;
        }
        precise float moved = x - word(TRAIN_RATE) * step;
        store(p.new_x, F32, i, moved);
    }
}
