// Four elements by 64-bit loads: a vector unit that gathers does as many steps for 64 bits as for 32. Needs shaderInt64.
#ifndef VANTAGE_WIDE_GLSL
#define VANTAGE_WIDE_GLSL
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#include "lib/storage.glsl"

layout(buffer_reference, std430, buffer_reference_align = 8) restrict readonly buffer ReadLong { uint64_t at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer ReadLongs { u64vec2 at[]; };

// Elements i … i + 3 as `load4` gives them.
vec4 load4_wide(uvec2 address, uint type, uint i) {
    if (type == F32) {
        u64vec2 words = ReadLongs(address).at[i >> 2];
        return uintBitsToFloat(uvec4(unpackUint2x32(words.x), unpackUint2x32(words.y)));
    }
    uvec2 words = unpackUint2x32(ReadLong(address).at[i >> 2]);
    return vec4(widen_pair(words.x, type), widen_pair(words.y, type));
}
layout(buffer_reference, std430, buffer_reference_align = 16) restrict writeonly buffer Longs { u64vec2 at[]; };
void store4_wide(uvec2 address, uint type, uint i, vec4 value) {
    if (type == F32) {
        uvec4 bits = floatBitsToUint(value);
        Longs(address).at[i >> 2] = u64vec2(packUint2x32(bits.xy), packUint2x32(bits.zw));
        return;
    }
    store4(address, type, i, value);
}
#endif
