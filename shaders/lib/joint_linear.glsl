// What the kernels of joint_linear share (matmul/joint.comp, matmul/joint_quantized.comp): products of the same few
// rows x [m, k] with two or three weights [n_i, k] in one launch:
//   y_i = x w_i^T + bias_i,   or, where the first gates the second,   y = f(x w_0^T + bias_0) (x w_1^T + bias_1).
//
// One workgroup per COLS rows of weights and ROWS of x: all of one weight, or of a gate's two weights half of them
// each, so that nothing but their product is written.
#extension GL_EXT_control_flow_attributes : require
#include "params/joint_linear.h"
JOINT_LINEAR_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/activation.glsl"
#include "lib/index.glsl"
#include "lib/steps.glsl"
layout(push_constant) uniform Push { JointLinearParams p; };
const bool GATED = GATE != ACTIVATION_NONE;
const uint WIDTH = GATED ? COLS / 2u : COLS;  // columns of the result
uint row0, col0, n;
uvec2 weight, up, bias, y;  // of these columns; `up` is the second of a gate

#define A_ROWS p.x
#define A_ROWS_TYPE X_TYPE
#define B_ROWS_TYPE W_TYPE
uint row_a(uint r) { return min(row0 + r, p.m - 1u); }
uint row_b(uint c) { return min(col0 + c % WIDTH, n - 1u); }
uvec2 b_rows(uint c) { return GATED && c >= WIDTH ? up : weight; }
#include "lib/workgroup_reduce_sums.glsl"

float with_bias(float product, uvec2 vector, uint col) {
    return present(vector) ? product + load(vector, BIAS_TYPE, col) : product;
}

// Which columns are this workgroup's; false: none.
bool take_columns() {
    uint group = workgroup_index(), groups0 = (p.n0 + WIDTH - 1u) / WIDTH, groups1 = (p.n1 + WIDTH - 1u) / WIDTH;
    weight = p.w0, up = p.w1, bias = p.bias0, y = p.y0, n = p.n0;
    if (!GATED && group >= groups0) {
        group -= groups0;
        weight = p.w1, bias = p.bias1, y = p.y1, n = p.n1;
        if (group >= groups1) {
            group -= groups1;
            weight = p.w2, bias = p.bias2, y = p.y2, n = p.n2;
        }
    }
    col0 = group * WIDTH, row0 = gl_WorkGroupID.z * ROWS;
    return col0 < n;
}

// Their sums (lib/workgroup_reduce_sums.glsl) become results.
void store_columns() {
    for (uint cell = gl_LocalInvocationID.x; cell < ROWS * WIDTH; cell += gl_WorkGroupSize.x) {
        uint r = row0 + cell / WIDTH, c = cell % WIDTH, col = col0 + c, at = cell / WIDTH * COLS + c;
        if (r >= p.m || col >= n) continue;
        float value = with_bias(totals[at], bias, col);
        if (GATED) value = activate(GATE, value) * with_bias(totals[at + WIDTH], p.bias1, col);
        store(y, X_TYPE, r * n + col, value);
    }
}
