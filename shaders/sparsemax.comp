// sparsemax: y = max(x - tau, 0) over a row, with the tau that makes its sum 1.
//
// One workgroup per row. With d = x - max x, tau is a root of f(tau) = sum max(d - tau, 0) - 1, which is piecewise
// linear: Newton's steps from tau = -1, below the root, reach it exactly. A step takes the
// d above tau and moves tau to where these alone would sum to 1. Their number falls from step to step until it stays;
// each step makes f times their number four times smaller or more, so that a few passes are enough. There is no sort
// and no memory but the row. No d is above 0: sums do not cancel, and the maximum keeps a weight.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/sparsemax.h"
SPARSEMAX_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/rows.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"

layout(push_constant) uniform Push { SparsemaxParams p; };

const float lowest = -3.4028234e38;  // only -inf is below

// NaN and +inf, by their bits: not every device compares them as IEEE 754 does.
bool is_wrong(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u || floatBitsToUint(x) == 0x7f800000u; }
bool is_above(float x, float maximum, float tau) { return x >= lowest && x - maximum > tau; }

void main() {
    uint row = workgroup_index(), lane = LANE, lanes = gl_WorkGroupSize.x;
    if (row >= p.rows) return;
    Row x = row_of(p.x, X_TYPE, row, p.cols), y = row_of(p.y, X_TYPE, row, p.cols);
    float own_max = lowest, wrong = 0.0;
    for (uint i = lane; i < p.cols; i += lanes) {
        float value = load(x.address, X_TYPE, x.begin + i);
        if (is_wrong(value)) wrong = 1.0;
        else own_max = max(own_max, value);
    }
    float maximum = workgroup_max(own_max), tau = -1.0, taken = 0.0, before;
    bool is_valid_row = workgroup_max(wrong) == 0.0;
    do {
        before = taken;
        float sum = 0.0, count = 0.0;
        for (uint i = lane; i < p.cols; i += lanes) {
            float value = load(x.address, X_TYPE, x.begin + i);
            if (!is_above(value, maximum, tau)) continue;
            sum += value - maximum;
            count += 1.0;
        }
        sum = workgroup_sum(sum);
        taken = workgroup_sum(count);
        if (taken > 0.0) tau = (sum - 1.0) / taken;
    } while (is_valid_row && taken > 0.0 && (before == 0.0 || taken < before));
    for (uint i = lane; i < p.cols; i += lanes) {
        float value = load(x.address, X_TYPE, x.begin + i);
        float weight = is_above(value, maximum, tau) ? (value - maximum) - tau : 0.0;
        store(y.address, X_TYPE, y.begin + i, is_valid_row ? weight : uintBitsToFloat(0x7fc00000u));
    }
}
