// sampling_probs: the probabilities that `sample` draws from,
//   softmax(x / temperature) over the top_k largest, of those the fewest that hold top_p, of those the ones that are at
//   least min_p times the largest; 0 elsewhere. Temperature 0 puts all on the largest.
//
// One workgroup per row; lib/sampling.glsl says how.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/storage.glsl"
#include "params/sampling_probs.h"

layout(local_size_x = 256, local_size_x_id = 0) in;
SAMPLING_PROBS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"
#include "lib/rows.glsl"
#include "lib/sampling.glsl"

layout(push_constant) uniform Push { SamplingProbsParams p; };

Row logits;
uint sampling_bits(uint i) { return load_bits(logits.address, X_TYPE, logits.begin + i); }

float wide_float(uvec2 a) { return float(a.y) * 4294967296.0 + float(a.x); }

void main() {
    uint row = workgroup_index(), lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
    if (row >= p.rows) return;
    logits = row_of(p.logits, X_TYPE, row, p.cols);
    uvec2 target = row_address(p.p, F32, row, p.cols), top = sampling_top(p.cols);
    if (top.x == 0u || p.temperature == 0.0) {  // nothing to draw, or nothing to choose
        for (uint i = lane; i < p.cols; i += lanes) store(target, F32, i, top.x != 0u && i == top.y ? 1.0 : 0.0);
        return;
    }
    Sampling s = narrowed(Sampling(p.cols, top.x, 1u, p.temperature, 0.0), p.top_k, p.top_p, p.min_p);
    float total = wide_float(sampling_total(s));
    for (uint i = lane; i < p.cols; i += lanes) store(target, F32, i, float(sampling_weight(s, sampling_key(i))) / total);
}
