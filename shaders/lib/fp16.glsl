// Eight elements as four words of two f16 for cooperative matrices: f16 unchanged, other types rounded to nearest.
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "lib/storage.glsl"

uvec2 to_f16x4(vec4 value) { return uvec2(packFloat2x16(f16vec2(value.xy)), packFloat2x16(f16vec2(value.zw))); }

// Elements i … i + 7; i a multiple of 8, address aligned to eight elements.
uvec4 load_f16x8(uvec2 address, uint type, uint i) {
    if (type == F16) return ReadOctets(address).at[i >> 3];
    return uvec4(to_f16x4(load4(address, type, i)), to_f16x4(load4(address, type, i + 4u)));
}

// The same of a line from element `first` on, zeros from element `end` of it on: `at` is a multiple of 8 within the
// line. With STEP 8 lines begin and end on a boundary of eight elements; else elements come one by one.
uvec4 load_line(uvec2 address, uint type, uint first, uint at, uint end, uint step) {
    if (step == 8u) return at < end ? load_f16x8(address, type, first + at) : uvec4(0u);
    vec4 low = vec4(0.0), high = vec4(0.0);
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
        if (at + e < end) low[e] = load(address, type, first + at + e);
        if (at + 4u + e < end) high[e] = load(address, type, first + at + 4u + e);
    }
    return uvec4(to_f16x4(low), to_f16x4(high));
}
