// norm_backward: dx = rstd (g - mean(g) - n mean(g n)), g = dy (gamma + offset), n = (x - mean) rstd, over rows; of
// rms_norm, which has no mean, without mean(g). One workgroup per row.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/norm_backward.h"
NORM_BACKWARD_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"

layout(push_constant) uniform Push { NormBackwardParams p; };

vec4 scaled_gradient(uint begin, uint col) {
    vec4 g = load_step(p.dy, DY_TYPE, begin + col);
    return present(p.gamma) ? g * (load_step(p.gamma, GAMMA_TYPE, col) + p.offset) : g;
}

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    uint begin = row * p.cols, stride = gl_WorkGroupSize.x * STEP;
    bool centred = present(p.mean);
    float mean = centred ? ReadFloats(p.mean).at[row] : 0.0, rstd = ReadFloats(p.rstd).at[row];
    float sum = 0.0, product = 0.0;
    for (uint col = LANE * STEP; col < p.cols; col += stride) {
        vec4 g = scaled_gradient(begin, col), n = (load_step(p.x, X_TYPE, begin + col) - mean) * rstd;
        sum += step_sum(g);
        product += step_sum(g * n);
    }
    sum = centred ? workgroup_sum(sum) / float(p.cols) : 0.0;
    product = workgroup_sum(product) / float(p.cols);
    for (uint col = LANE * STEP; col < p.cols; col += stride) {
        vec4 g = scaled_gradient(begin, col), n = (load_step(p.x, X_TYPE, begin + col) - mean) * rstd;
        store_step(p.dx, DY_TYPE, begin + col, rstd * (g - sum - n * product));
    }
}
