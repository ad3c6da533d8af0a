// How the values of all lanes of a workgroup become one, the same in every invocation, in an order that never changes.
//
// WORKGROUP_REDUCE(VALUE, SUBGROUP_VALUE, SLOTS, COMBINE): with USE_SUBGROUP the lanes of a subgroup are joined by
// SUBGROUP_VALUE, an expression of subgroup operations, and only one value per subgroup goes through the shared array
// SLOTS; without, VALUE of every lane does, as a binary tree (workgroups have a power of two invocations). Correct for
// every subgroup size. From uniform control flow only.
#ifndef VANTAGE_WORKGROUP_REDUCE_GLSL
#define VANTAGE_WORKGROUP_REDUCE_GLSL
#ifdef ONE_SUBGROUP  // a workgroup is one subgroup: no barrier, which would spill all registers of CPU devices
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#define WORKGROUP_REDUCE(VALUE, SUBGROUP_VALUE, SLOTS, COMBINE) return SUBGROUP_VALUE;
#elif defined(USE_SUBGROUP)
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#define WORKGROUP_REDUCE(VALUE, SUBGROUP_VALUE, SLOTS, COMBINE)                                          \
    VALUE = SUBGROUP_VALUE;                                                                     \
    if (gl_NumSubgroups == 1u) return VALUE;                                                    \
    barrier();                                                                                  \
    if (subgroupElect()) SLOTS[gl_SubgroupID] = VALUE;                                          \
    barrier();                                                                                  \
    VALUE = SLOTS[0];                                                                           \
    for (uint i = 1u; i < gl_NumSubgroups; ++i) VALUE = COMBINE(VALUE, SLOTS[i]);                  \
    return VALUE;
#else
#define WORKGROUP_REDUCE(VALUE, SUBGROUP_VALUE, SLOTS, COMBINE)                                          \
    uint lane = gl_LocalInvocationID.x;                                                         \
    barrier();                                                                                  \
    SLOTS[lane] = VALUE;                                                                        \
    barrier();                                                                                  \
    for (uint half_size = gl_WorkGroupSize.x / 2u; half_size > 0u; half_size /= 2u) {           \
        if (lane < half_size) SLOTS[lane] = COMBINE(SLOTS[lane], SLOTS[lane + half_size]);         \
        barrier();                                                                              \
    }                                                                                           \
    return SLOTS[0];
#endif
#endif
