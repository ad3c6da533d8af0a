// Eight elements as four words of two f16 for cooperative matrices: f16 unchanged, other types rounded to nearest.
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "lib/storage.glsl"

uvec2 to_f16x4(vec4 value) { return uvec2(packFloat2x16(f16vec2(value.xy)), packFloat2x16(f16vec2(value.zw))); }

// Elements i … i + 7 as they lie in memory, i a multiple of 8, address aligned to eight elements. They are converted
// later (to_f16x8), so that loads do not wait for each other.
//   f32: both vectors.   16 bits: `first`.   quantised: x and y of `first` have the quants, z their high bits;
//   `second` what scales are made of.
struct RawOctet {
    uvec4 first, second;
};
RawOctet load_raw8(uvec2 address, uint type, uint i) {
    RawOctet raw = RawOctet(uvec4(0u), uvec4(0u));
    if (is_quantized(type)) {
        uint quad = type == Q8 ? i % QUANT_BLOCK / 4u : i % (QUANT_BLOCK / 2u) / 4u;
        raw.first.xy = ReadPairs(address).at[(block_at(type, i) + quad) / 2u];
        raw.first.z = load_high(address, type, i);
        raw.second = load_scales(address, type, i);
    } else if (type == F32) {
        raw.first = ReadOctets(address).at[i >> 2], raw.second = ReadOctets(address).at[(i >> 2) + 1u];
    } else {
        raw.first = ReadOctets(address).at[i >> 3];
    }
    return raw;
}
uvec4 to_f16x8(RawOctet raw, uint type, uint i) {
    if (type == F16) return raw.first;
    vec4 low = uintBitsToFloat(raw.first), high = uintBitsToFloat(raw.second);
    if (type == BF16) {
        low = vec4(widen_pair(raw.first.x, type), widen_pair(raw.first.y, type));
        high = vec4(widen_pair(raw.first.z, type), widen_pair(raw.first.w, type));
    } else if (is_quantized(type)) {
        Scales scales = scales_of(raw.second, type, i);
        low = weights_of(type, raw.first.x, raw.first.z, scales, i);
        high = weights_of(type, raw.first.y, raw.first.z, scales, i + 4u);
    }
    return uvec4(to_f16x4(low), to_f16x4(high));
}
uvec4 load_f16x8(uvec2 address, uint type, uint i) { return to_f16x8(load_raw8(address, type, i), type, i); }

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
