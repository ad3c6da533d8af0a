// record_norms: writes the norms of up to eight groups of gradients into the row of the current step.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 8, local_size_x_id = 0) in;
#include "params/train.h"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { RecordNormsParams p; };

void main() {
    uint group = p.first + gl_LocalInvocationIndex;
    if (group >= p.groups || !present(p.x[gl_LocalInvocationIndex])) return;
    float squares = ReadFloats(p.x[gl_LocalInvocationIndex]).at[0];
    // by its bits: a compiler may take isnan for false
    bool finite = (floatBitsToUint(squares) & 0x7f800000u) != 0x7f800000u;
    uint row = uint(ReadFloats(p.train).at[TRAIN_STEP]) % TRAIN_HISTORY;
    Floats(p.new_norms).at[row * p.groups + group] =
        finite ? sqrt(squares) / ReadFloats(p.train).at[TRAIN_SCALE] : uintBitsToFloat(0x7f800000u);
}
