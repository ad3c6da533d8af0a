// batch_norm: y = (x - mean) / sqrt(variance + eps) * gamma + beta, by channel of x (batch, channels, extent).
// With TRAINING mean and (biased) variance are the batch's, and the running ones move towards them by `momentum`, the
// variance towards the unbiased one; else the running ones are used.
//
// One workgroup per channel. Two passes for the statistics, relative to the channel's first element, as in layer_norm.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/batch_norm.h"
BATCH_NORM_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/storage.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"

layout(push_constant) uniform Push { BatchNormParams p; };

uint channel = workgroup_index(), count = p.batch * p.extent;
uint place(uint i) { return (i / p.extent * p.channels + channel) * p.extent + i % p.extent; }

void main() {
    if (channel >= p.channels) return;
    uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
    float shift = 0.0, mean = ReadFloats(p.mean).at[channel], variance = ReadFloats(p.variance).at[channel];
    if (TRAINING) {
        float total = 0.0, square = 0.0;
        shift = load(p.x, X_TYPE, place(0u));
        for (uint i = lane; i < count; i += lanes) total += load(p.x, X_TYPE, place(i)) - shift;
        float shifted = workgroup_sum(total) / float(max(count, 1u));
        for (uint i = lane; i < count; i += lanes) {
            float deviation = (load(p.x, X_TYPE, place(i)) - shift) - shifted;
            square += deviation * deviation;
        }
        square = workgroup_sum(square);
        if (lane == 0u) {
            float unbiased = square / float(max(count, 2u) - 1u);
            Floats(p.new_mean).at[channel] = mean + p.momentum * (shift + shifted - mean);
            Floats(p.new_variance).at[channel] = variance + p.momentum * (unbiased - variance);
        }
        mean = shifted;
        variance = square / float(max(count, 1u));
    }
    float factor = 1.0 / sqrt(variance + p.eps);
    if (present(p.gamma)) factor *= load(p.gamma, W_TYPE, channel);
    float bias = present(p.beta) ? load(p.beta, W_TYPE, channel) : 0.0;
    for (uint i = lane; i < count; i += lanes)
        store(p.y, X_TYPE, place(i), ((load(p.x, X_TYPE, place(i)) - shift) - mean) * factor + bias);
}
