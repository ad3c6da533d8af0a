// Floats as integers in the same order, and the place of the largest.
//
// Integers order infinities and NaNs the same on every device, where float comparisons may not. Include after
// local_size is declared.
#include "lib/workgroup_reduce.glsl"
#include "lib/storage.glsl"

// The larger the float, the larger the key; equal floats (0 and -0) have equal keys; NaN and -inf have 0, the least.
uint order_key(uint bits) {
    uint magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u || bits == 0xff800000u) return 0u;
    if (magnitude == 0u) return 0x80000000u;
    return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}
// The bits of element i as an f32. An f32 is untouched by arithmetic.
uint load_bits(uvec2 address, uint type, uint i) {
    return type == F32 ? ReadWords(address).at[i] : floatBitsToUint(load(address, type, i));
}
uint load_key(uvec2 address, uint type, uint i) { return order_key(load_bits(address, type, i)); }
float order_value(uint key) { return uintBitsToFloat((key & 0x80000000u) != 0u ? key & 0x7fffffffu : ~key); }

// (key, index) of the larger key, of the smaller index where keys are equal.
uvec2 larger(uvec2 a, uvec2 b) { return b.x > a.x || (b.x == a.x && b.y < a.y) ? b : a; }

shared uvec2 order_slots[gl_WorkGroupSize.x];

#ifdef USE_SUBGROUP
uvec2 subgroup_largest(uvec2 value) {
    uint key = subgroupMax(value.x);
    return uvec2(key, subgroupMin(value.x == key ? value.y : 0xffffffffu));
}
#endif
// The largest over the workgroup, in every invocation.
uvec2 workgroup_largest(uvec2 value) { WORKGROUP_REDUCE(value, subgroup_largest(value), order_slots, larger) }
