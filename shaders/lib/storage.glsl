// Storage types of tensors, resolved here and nowhere else. Arithmetic is float everywhere.
//
// Kernels name a tensor by its 64-bit address and a type that is a specialization constant, so the branches below
// vanish when a pipeline is made. 16-bit data is read from 32-bit words: no device feature is needed for it. A 16-bit
// element shares its word with a neighbour. `store` of one element therefore changes its half atomically; `store4` owns
// whole words and is a plain write: prefer it where rows begin on such a boundary. Quantised data is read here
// (lib/quantized.glsl), and written in blocks (lib/quantize_block.glsl).
#ifndef VANTAGE_STORAGE_GLSL
#define VANTAGE_STORAGE_GLSL
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

#define F32 0u
#define F16 1u
#define BF16 2u
#define Q8 3u
#define Q4 4u
#define Q4_1 5u
#define Q5 6u
#define Q5_1 7u
#define Q4_K 8u
#define Q5_K 9u
#define Q6_K 10u

layout(buffer_reference, std430, buffer_reference_align = 4) restrict buffer Words { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) restrict writeonly buffer Floats { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) restrict writeonly buffer Pairs { uvec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) restrict writeonly buffer Quads { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) restrict readonly buffer ReadWords { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) restrict readonly buffer ReadFloats { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) restrict readonly buffer ReadPairs { uvec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer ReadQuads { vec4 at[]; };
// eight halves at a time
layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer ReadOctets { uvec4 at[]; };

#include "lib/quantized.glsl"

// Absent operands have bit 0 set, or are 0 (Recorder::addresses_of).
bool present(uvec2 address) { return (address.x & 1u) == 0u && (address.x | address.y) != 0u; }

// address of element `row * cols` of a tensor of `type`; 64-bit, for tensors of more than 2^32 bytes.
uvec2 row_address(uvec2 address, uint type, uint row, uint cols) {
    uint high, low;
    umulExtended(row, type == F32 ? cols * 4u : cols * 2u, high, low);
    uint carry;
    low = uaddCarry(address.x, low, carry);
    return uvec2(low, address.y + high + carry);
}

// The same of quantised rows that begin with a group.
uvec2 quantized_row(uvec2 address, uint type, uint row, uint cols) {
    return row_address(address, F32, row, cols / group_elements(type) * (group_bytes(type) / 4u));
}

// `bytes` further on.
uvec2 advance(uvec2 address, uint bytes) {
    uint carry;
    uint low = uaddCarry(address.x, bytes, carry);
    return uvec2(low, address.y + carry);
}

float widen_half(uint bits, uint type) { return type == F16 ? unpackHalf2x16(bits).x : uintBitsToFloat(bits << 16); }
vec2 widen_pair(uint word, uint type) {
    return type == F16 ? unpackHalf2x16(word) : vec2(uintBitsToFloat(word << 16), uintBitsToFloat(word & 0xffff0000u));
}
// Round to nearest even by integers: packHalf2x16 may round towards zero on some devices.
uint narrow_half(float value) {
    uint bits = floatBitsToUint(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | 0x7e00u;
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
    if (magnitude < 0x38800000u) {
        precise float shifted = uintBitsToFloat(magnitude) + 0.5;
        return sign | (floatBitsToUint(shifted) - 0x3f000000u);
    }
    return sign | ((magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13);
}
uint narrow_bfloat(float value) {
    uint bits = floatBitsToUint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (bits >> 16) | 0x40u;
    return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}
uint narrow(float value, uint type) { return type == F16 ? narrow_half(value) : narrow_bfloat(value); }

// Element i.
float load(uvec2 address, uint type, uint i) {
    if (type == F32) return ReadFloats(address).at[i];
    if (is_quantized(type)) return load_quantized(address, type, i);
    uint word = ReadWords(address).at[i >> 1];
    return widen_half((i & 1u) != 0u ? word >> 16 : word & 0xffffu, type);
}
// Elements i … i + 3; i a multiple of 4, address aligned to four elements.
vec4 load4(uvec2 address, uint type, uint i) {
    if (type == F32) return ReadQuads(address).at[i >> 2];
    if (is_quantized(type)) return load_quantized4(address, type, i);
    uvec2 words = ReadPairs(address).at[i >> 2];
    return vec4(widen_pair(words.x, type), widen_pair(words.y, type));
}
// Elements i … i + 7; i a multiple of 8, address aligned to eight elements: 16 bytes of a narrow type at once.
void load8(uvec2 address, uint type, uint i, out vec4 low, out vec4 high) {
    if (type == F32) {
        low = ReadQuads(address).at[i >> 2], high = ReadQuads(address).at[(i >> 2) + 1u];
    } else {
        uvec4 words = ReadOctets(address).at[i >> 3];
        low = vec4(widen_pair(words.x, type), widen_pair(words.y, type));
        high = vec4(widen_pair(words.z, type), widen_pair(words.w, type));
    }
}

void store(uvec2 address, uint type, uint i, float value) {
    if (type == F32) {
        Floats(address).at[i] = value;
        return;
    }
    uint shift = (i & 1u) * 16u;
    atomicAnd(Words(address).at[i >> 1], 0xffff0000u >> shift);
    atomicOr(Words(address).at[i >> 1], narrow(value, type) << shift);
}
void store4(uvec2 address, uint type, uint i, vec4 value) {
    if (type == F32) {
        Quads(address).at[i >> 2] = value;
        return;
    }
    Pairs(address).at[i >> 2] = uvec2(narrow(value.x, type) | (narrow(value.y, type) << 16),
                                      narrow(value.z, type) | (narrow(value.w, type) << 16));
}
#endif
