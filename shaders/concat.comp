// concat: y = [a; b], the rows of a and then those of b.
//
// STEP elements per invocation: they are all a's or all b's, since rows of a are whole.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/concat.h"
CONCAT_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { ConcatParams p; };

void main() {
    uint i = invocation_index() * STEP;
    if (i >= p.count) return;
    vec4 value = i < p.a_count ? load_step(p.a, A_TYPE, i) : load_step(p.b, B_TYPE, i - p.a_count);
    store_step(p.y, B_TYPE, i, value);
}
