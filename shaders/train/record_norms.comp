// record_norms: writes the norms of up to eight groups of gradients into the row of the current step.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 1, local_size_x_id = 0) in;
#include "params/train.h"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { RecordNormsParams p; };

void main() {
    uint row = uint(ReadFloats(p.train).at[TRAIN_STEP]) % TRAIN_HISTORY;
    float scale = ReadFloats(p.train).at[TRAIN_SCALE];
    for (uint i = 0u; i < 8u; ++i) {
        if (!present(p.x[i])) continue;
        float squares = ReadFloats(p.x[i]).at[0];
        // by its bits: a compiler may take isnan for false
        bool finite = (floatBitsToUint(squares) & 0x7f800000u) != 0x7f800000u;
        Floats(p.new_norms).at[row * p.groups + p.first + i] =
            finite ? sqrt(squares) / scale : uintBitsToFloat(0x7f800000u);
    }
}
