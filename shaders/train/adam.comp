// adam: m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g², x -= rate m c1 / (sqrt(v c2) + eps), with the factors of the
// current update (params/train.h). Weight decay is part of g, or with `decoupled` x is multiplied by 1 - rate decay.
// Four elements per invocation; only the last may have fewer. `precise`: every device and kernel rounds alike.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/train.h"
#include "lib/storage.glsl"
#include "lib/index.glsl"
layout(push_constant) uniform Push { AdamParams p; };

float word(uint i) { return ReadFloats(p.train).at[i]; }

void update(inout vec4 x, inout vec4 m, inout vec4 v, vec4 gradient) {
    float rate = word(TRAIN_RATE);
    precise vec4 g = gradient * word(TRAIN_GRADIENT_FACTOR);
    if (p.decoupled == 0u) g += p.decay * x;
    precise vec4 mean = p.beta1 * m + (1.0 - p.beta1) * g, variance = p.beta2 * v + (1.0 - p.beta2) * g * g;
    precise vec4 kept = p.decoupled != 0u ? x * (1.0 - rate * p.decay) : x;
    precise vec4 denominator = sqrt(variance * word(TRAIN_VARIANCE_FACTOR)) + p.eps;
    precise vec4 moved = kept - rate * (mean * word(TRAIN_MEAN_FACTOR)) / denominator;
    x = moved, m = mean, v = variance;
}

void main() {
    uint i = invocation_index() * 4u;
    if (word(TRAIN_SKIP) != 0.0) return;
    if (i + 4u <= p.count) {
        vec4 x = load4(p.x, F32, i), m = load4(p.mean, F32, i), v = load4(p.variance, F32, i);
        update(x, m, v, load4(p.gradient, F32, i));
        store4(p.new_x, F32, i, x);
        store4(p.new_mean, F32, i, m);
        store4(p.new_variance, F32, i, v);
        return;
    }
    for (; i < p.count; ++i) {
        vec4 x = vec4(load(p.x, F32, i)), m = vec4(load(p.mean, F32, i)), v = vec4(load(p.variance, F32, i));
        update(x, m, v, vec4(load(p.gradient, F32, i)));
        store(p.new_x, F32, i, x.x);
        store(p.new_mean, F32, i, m.x);
        store(p.new_variance, F32, i, v.x);
    }
}
