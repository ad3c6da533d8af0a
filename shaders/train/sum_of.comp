// sum_of: the sum of up to eight numbers.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 1, local_size_x_id = 0) in;
#include "params/train.h"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { SumOfParams p; };

void main() {
    float total = 0.0;
    for (uint i = 0u; i < 8u; ++i)
        if (present(p.x[i])) total += ReadFloats(p.x[i]).at[0];
    Floats(p.sum).at[0] = total;
}
