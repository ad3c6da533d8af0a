// concat: y = [a; b], each block of a and then that of b: along the first axis all is one block.
//
// STEP elements per invocation: they are all a's or all b's, since blocks are a multiple of STEP long.
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
    uint block = i / (p.a_block + p.b_block), place = i % (p.a_block + p.b_block);
    vec4 value = vec4(0.0);
    if (place < p.a_block)
        value = load_step(p.a, A_TYPE, block * p.a_block + place);
    else
        value = load_step(p.b, B_TYPE, block * p.b_block + place - p.a_block);
    store_step(p.y, B_TYPE, i, value);
}
