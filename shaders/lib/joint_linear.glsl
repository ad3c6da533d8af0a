// What the kernels of joint_linear and of linear_rope_write share (matmul/joint.comp, matmul/joint_quantized.comp,
// matmul/joint_int8.comp): products of the same few rows x [m, k] with two or three weights [n_i, k] in one launch:
//   y_i = x w_i^T + bias_i,   or, where the first gates the second,   y = f(x w_0^T + bias_0) (x w_1^T + bias_1).
// linear_rope_write has HEAD: the three are the queries, keys and values of m sequences, one token each. Queries and
// keys turn by the angles of their positions (lib/rotation.glsl), and keys and values go into their caches.
//
// One workgroup per COLS rows of weights and ROWS of x: all of one weight, or of a gate's two weights half of them
// each, so that nothing but their product is written. Both features of a pair that turns are in one workgroup.
#extension GL_EXT_control_flow_attributes : require
#include "params/joint_linear.h"
JOINT_LINEAR_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/activation.glsl"
#include "lib/cache.glsl"
#include "lib/index.glsl"
#include "lib/rotation.glsl"
#include "lib/steps.glsl"
layout(push_constant) uniform Push { JointLinearParams p; };
const bool GATED = GATE != ACTIVATION_NONE;
const uint WIDTH = GATED ? COLS / 2u : COLS;  // columns of the result
const uint HALF_COLS = COLS / 2u;
uint which, row0, col0, n;  // which: the number of the weight
uvec2 weight, up, bias, y;  // of these columns; `up` is the second of a gate
// With HEAD: the first of the columns within its head, where both halves of the columns begin, and what happens to them.
uint feature, first_col, apart;
bool turns, to_cache;

#define A_ROWS p.x
#define A_ROWS_TYPE X_TYPE
#define B_ROWS_TYPE W_TYPE
uint row_a(uint r) { return min(row0 + r, p.m - 1u); }
uint column_of(uint c) { return HEAD != 0u ? first_col + c / HALF_COLS * apart + c % HALF_COLS : col0 + c % WIDTH; }
uint row_b(uint c) { return min(column_of(c), n - 1u); }
uvec2 b_rows(uint c) { return GATED && c >= WIDTH ? up : weight; }
#include "lib/workgroup_reduce_sums.glsl"

float with_bias(float product, uvec2 vector, uint col) {
    return present(vector) ? product + load(vector, BIAS_TYPE, col) : product;
}

// With HEAD: COLS divides HEAD and ROTARY.
void find_head() {
    feature = col0 % max(HEAD, 1u);
    to_cache = which > 0u, turns = which < 2u && feature < ROTARY;
    bool by_halves = turns && !INTERLEAVED;  // pairs (i, i + ROTARY / 2)
    first_col = by_halves ? col0 - feature / 2u : col0, apart = by_halves ? ROTARY / 2u : HALF_COLS;
}

// Which columns are this workgroup's; false: none.
bool take_columns() {
    uint group = workgroup_index(), groups0 = (p.n0 + WIDTH - 1u) / WIDTH, groups1 = (p.n1 + WIDTH - 1u) / WIDTH;
    which = 0u, weight = p.w0, up = p.w1, bias = p.bias0, y = p.y0, n = p.n0;
    if (!GATED && group >= groups0) {
        group -= groups0;
        which = 1u, weight = p.w1, bias = p.bias1, y = p.y1, n = p.n1;
        if (group >= groups1) {
            group -= groups1;
            which = 2u, weight = p.w2, bias = p.bias2, y = p.y2, n = p.n2;
        }
    }
    col0 = group * WIDTH, row0 = gl_WorkGroupID.z * ROWS;
    if (HEAD != 0u) find_head();
    return col0 < n;
}

// With HEAD: results as pairs of features.
void store_pairs() {
    for (uint cell = gl_LocalInvocationID.x; cell < ROWS * HALF_COLS; cell += gl_WorkGroupSize.x) {
        uint r = row0 + cell / HALF_COLS, pair = cell % HALF_COLS;
        if (r >= p.m) continue;
        uint c = turns && INTERLEAVED ? 2u * pair : pair, second = turns && INTERLEAVED ? c + 1u : c + HALF_COLS;
        uint at = cell / HALF_COLS * COLS, position = position_of(step_of(p.step, r), 0u);
        vec4 a = vec4(with_bias(totals[at + c], bias, column_of(c)), 0.0, 0.0, 0.0);
        vec4 b = vec4(with_bias(totals[at + second], bias, column_of(second)), 0.0, 0.0, 0.0);
        if (turns && position < p.table_rows) {
            uint angle = position * ROTARY + feature / 2u + pair;
            turn(a, b, vec4(load(p.table, F32, angle)), vec4(load(p.table, F32, angle + ROTARY / 2u)));
        } else if (turns) {
            a = b = vec4(0.0);
        }
        Row to = Row(y, r * n);
        if (to_cache) {
            if (!is_valid(step_of(p.step, r), 0u) || position >= p.cache_rows) continue;
            to = row_of(y, CACHE_TYPE, cache_row(sequence_of(p.step, r), p.cache_rows, position), n);
        }
        uint type = to_cache ? CACHE_TYPE : X_TYPE;
        store(to.address, type, to.begin + column_of(c), a.x);
        store(to.address, type, to.begin + column_of(second), b.x);
    }
}

// Their sums (lib/workgroup_reduce_sums.glsl) become results.
void store_columns() {
    if (HEAD != 0u) {
        store_pairs();
        return;
    }
    for (uint cell = gl_LocalInvocationID.x; cell < ROWS * WIDTH; cell += gl_WorkGroupSize.x) {
        uint r = row0 + cell / WIDTH, c = cell % WIDTH, col = col0 + c, at = cell / WIDTH * COLS + c;
        if (r >= p.m || col >= n) continue;
        float value = with_bias(totals[at], bias, col);
        if (GATED) value = activate(GATE, value) * with_bias(totals[at + WIDTH], p.bias1, col);
        store(y, X_TYPE, r * n + col, value);
    }
}
