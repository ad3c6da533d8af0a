// Floats as integers in the same order, and the place of the largest.
//
// Integers order infinities and NaNs the same on every device, where float comparisons may not. Include after local_size
// is declared; with USE_SUBGROUP lanes are joined by subgroup operations first, as in lib/reduce.glsl.
#ifndef VANTAGE_ORDER_GLSL
#define VANTAGE_ORDER_GLSL
#include "lib/storage.glsl"
#ifdef USE_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif

// The larger the float, the larger the key; equal floats (0 and -0) have equal keys; NaN and -inf have 0, the least.
uint order_key(uint bits) {
    uint magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u || bits == 0xff800000u) return 0u;
    if (magnitude == 0u) return 0x80000000u;
    return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}
// The key of element i. An f32 is taken by its bits, untouched by arithmetic.
uint load_key(uvec2 address, uint type, uint i) {
    return order_key(type == F32 ? ReadWords(address).at[i] : floatBitsToUint(load(address, type, i)));
}
float order_value(uint key) { return uintBitsToFloat((key & 0x80000000u) != 0u ? key & 0x7fffffffu : ~key); }

// (key, index) of the larger key, of the smaller index where keys are equal.
uvec2 larger(uvec2 a, uvec2 b) { return b.x > a.x || (b.x == a.x && b.y < a.y) ? b : a; }

shared uvec2 order_slots[gl_WorkGroupSize.x];

#ifdef USE_SUBGROUP
// The largest over the workgroup, in every invocation.
uvec2 workgroup_largest(uvec2 value) {
    uint key = subgroupMax(value.x), place = subgroupMin(value.x == key ? value.y : 0xffffffffu);
    uvec2 best = uvec2(key, place);
    if (gl_NumSubgroups == 1u) return best;
    barrier();
    if (subgroupElect()) order_slots[gl_SubgroupID] = best;
    barrier();
    best = order_slots[0];
    for (uint i = 1u; i < gl_NumSubgroups; ++i) best = larger(best, order_slots[i]);
    return best;
}
#else
// The largest over the workgroup, in every invocation. Workgroups have a power of two invocations.
uvec2 workgroup_largest(uvec2 value) {
    uint lane = gl_LocalInvocationID.x;
    barrier();
    order_slots[lane] = value;
    barrier();
    for (uint half_size = gl_WorkGroupSize.x / 2u; half_size > 0u; half_size /= 2u) {
        if (lane < half_size) order_slots[lane] = larger(order_slots[lane], order_slots[lane + half_size]);
        barrier();
    }
    return order_slots[0];
}
#endif
#endif
