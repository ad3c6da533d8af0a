// cross_entropy: with z the logits of a row and y its target,
//   lse = ln sum exp(z),  loss = (1 - s) (lse - z_y) + s (lse - mean z) + zeta lse^2
// and 0 for a row without a target (y < 0, or beyond the logits). With BACKWARD, g the gradient of the row's loss,
//   dz = g (p (1 + 2 zeta lse) - (1 - s) [column y] - s / cols),  p = exp(z - lse)
// One workgroup per row.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/cross_entropy.h"
CROSS_ENTROPY_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/storage.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"

layout(push_constant) uniform Push { CrossEntropyParams p; };

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    uint begin = row * p.cols, target = ReadWords(p.targets).at[p.first_target + row];
    bool counts = target < p.cols;
#ifdef BACKWARD
    float lse = ReadFloats(p.lse).at[row], g = ReadFloats(p.loss).at[row];
    for (uint i = LANE; i < p.cols; i += gl_WorkGroupSize.x) {
        float dz = exp(load(p.logits, X_TYPE, begin + i) - lse) * (1.0 + 2.0 * p.z_loss * lse) - p.smoothing / float(p.cols);
        if (i == target) dz -= 1.0 - p.smoothing;
        store(p.dlogits, X_TYPE, begin + i, counts ? g * dz : 0.0);
    }
#else
    float highest = uintBitsToFloat(0xff800000u), sum = 0.0, total = 0.0;
    for (uint i = LANE; i < p.cols; i += gl_WorkGroupSize.x) {
        float z = load(p.logits, X_TYPE, begin + i);
        highest = max(highest, z);
        total += z;
    }
    highest = workgroup_max(highest);
    for (uint i = LANE; i < p.cols; i += gl_WorkGroupSize.x) sum += exp(load(p.logits, X_TYPE, begin + i) - highest);
    sum = workgroup_sum(sum);
    total = workgroup_sum(total);
    if (LANE != 0u) return;
    float lse = highest + log(sum), z = counts ? load(p.logits, X_TYPE, begin + target) : 0.0;
    float loss = (1.0 - p.smoothing) * (lse - z) + p.z_loss * lse * lse;
    if (p.smoothing > 0.0) loss += p.smoothing * (lse - total / float(p.cols));
    Floats(p.loss).at[row] = counts ? loss : 0.0;
    Floats(p.lse).at[row] = lse;
#endif
}
