// joint_linear: products of the same few rows x [m, k] with two or three weights [n_i, k] in one launch:
//   y_i = x w_i^T + bias_i,   or, where the first gates the second,   y = f(x w_0^T + bias_0) (x w_1^T + bias_1).
//
// One workgroup per COLS rows of weights and ROWS of x (lib/row_dots.glsl; quantised weights: lib/quantized_dots.glsl): all of one weight, or
// of a gate's two weights half of them each, so that nothing but their product is written.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
layout(constant_id = 1) const uint X_TYPE = 0;  // x, y
layout(constant_id = 2) const uint W_TYPE = 0;
layout(constant_id = 3) const uint BIAS_TYPE = 0;
layout(constant_id = 4) const uint GATE = 0;  // f; none: nothing gates
layout(constant_id = 5) const uint ROWS = 1;  // 1, 4 or 8
layout(constant_id = 6) const uint STEP = 1;  // 4 where k % 4 == 0
layout(constant_id = 7) const uint COLS = 4;  // 2 or 4
#include "lib/activation.glsl"
#include "lib/index.glsl"
#include "lib/steps.glsl"
#include "params/joint_linear.h"
layout(push_constant) uniform Push { JointLinearParams p; };
const bool GATED = GATE != ACTIVATION_NONE;
const uint WIDTH = GATED ? COLS / 2u : COLS;  // columns of the result
uint row0, col0, n;
uvec2 weight, up;  // of these columns; `up` is the second of a gate

vec4 load_a(uint r, uint k) { return load_step(p.x, X_TYPE, min(row0 + r, p.m - 1u) * p.k + k); }
uvec2 weight_of(uint c) { return GATED && c >= WIDTH ? up : weight; }
uint first_of(uint c) { return min(col0 + c % WIDTH, n - 1u) * p.k; }
#ifdef QUANTIZED
#define QUANTS W_TYPE
const uint QUARTERS = 1u;
float load_scale(uint c, uint k0) { return block_scale(weight_of(c), W_TYPE, first_of(c) + k0); }
Quarter load_quarter(uint c, uint k0, uint quarter) { return quants8(weight_of(c), W_TYPE, first_of(c) + k0, quarter); }
#include "lib/join_sums.glsl"
#include "lib/quantized_dots.glsl"

void row_dots(uint count) {
    float sums[ROWS][COLS];
    quantized_dots(count, gl_LocalInvocationID.x, gl_WorkGroupSize.x, sums);
    join_sums(sums);
}
#else
vec4 load_b(uint c, uint k) { return load_step(weight_of(c), W_TYPE, first_of(c) + k); }
#include "lib/row_dots.glsl"
#endif

float with_bias(float product, uvec2 bias, uint col) {
    return present(bias) ? product + load(bias, BIAS_TYPE, col) : product;
}

void main() {
    uint group = workgroup_index(), groups0 = (p.n0 + WIDTH - 1u) / WIDTH, groups1 = (p.n1 + WIDTH - 1u) / WIDTH;
    uvec2 bias = p.bias0, y = p.y0;
    weight = p.w0, up = p.w1, n = p.n0;
    if (!GATED && group >= groups0) {
        group -= groups0;
        weight = p.w1, bias = p.bias1, y = p.y1, n = p.n1;
        if (group >= groups1) {
            group -= groups1;
            weight = p.w2, bias = p.bias2, y = p.y2, n = p.n2;
        }
    }
    col0 = group * WIDTH, row0 = gl_WorkGroupID.z * ROWS;
    if (col0 >= n) return;
    row_dots(p.k);
    for (uint cell = gl_LocalInvocationID.x; cell < ROWS * WIDTH; cell += gl_WorkGroupSize.x) {
        uint r = row0 + cell / WIDTH, c = cell % WIDTH, col = col0 + c, at = cell / WIDTH * COLS + c;
        if (r >= p.m || col >= n) continue;
        float value = with_bias(totals[at], bias, col);
        if (GATED) value = activate(GATE, value) * with_bias(totals[at + WIDTH], p.bias1, col);
        store(y, X_TYPE, r * n + col, value);
    }
}
