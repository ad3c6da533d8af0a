// Four elements at once: LOAD4 and STORE4 are load4 and store4, or with WIDE the same by 64-bit accesses. A vector unit
// that gathers and scatters takes as many steps for 64 bits as for 32: for CPU devices with shaderInt64.
#include "lib/storage.glsl"

#ifdef WIDE
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(buffer_reference, std430, buffer_reference_align = 8) restrict readonly buffer ReadLong { uint64_t at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer ReadLongs { u64vec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) restrict writeonly buffer Longs { u64vec2 at[]; };

vec4 load4_wide(uvec2 address, uint type, uint i) {
    if (is_quantized(type)) return load4(address, type, i);
    if (type == F32) {
        u64vec2 words = ReadLongs(address).at[i >> 2];
        return uintBitsToFloat(uvec4(unpackUint2x32(words.x), unpackUint2x32(words.y)));
    }
    uvec2 words = unpackUint2x32(ReadLong(address).at[i >> 2]);
    return vec4(widen_pair(words.x, type), widen_pair(words.y, type));
}
void store4_wide(uvec2 address, uint type, uint i, vec4 value) {
    if (type == F32) {
        uvec4 bits = floatBitsToUint(value);
        Longs(address).at[i >> 2] = u64vec2(packUint2x32(bits.xy), packUint2x32(bits.zw));
        return;
    }
    store4(address, type, i, value);
}
#define LOAD4 load4_wide
#define STORE4 store4_wide
#else
#define LOAD4 load4
#define STORE4 store4
#endif
