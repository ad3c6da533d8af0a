// Sums and maxima over a workgroup, the same in every invocation, in an order that never changes.
//
// With USE_SUBGROUP the lanes of a subgroup are joined by subgroup operations and only one value per subgroup goes through
// shared memory; without, a binary tree in shared memory. Correct for every subgroup size. Include after local_size is
// declared; call from uniform control flow only.
#ifndef VANTAGE_REDUCE_GLSL
#define VANTAGE_REDUCE_GLSL
#ifdef USE_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif

shared float reduce_slots[gl_WorkGroupSize.x];

#ifdef USE_SUBGROUP
#define REDUCE(NAME, SUBGROUP_OP, JOIN)                                      \
    float NAME(float value) {                                                \
        value = SUBGROUP_OP(value);                                          \
        if (gl_NumSubgroups == 1u) return value;                             \
        barrier();                                                           \
        if (subgroupElect()) reduce_slots[gl_SubgroupID] = value;            \
        barrier();                                                           \
        value = reduce_slots[0];                                             \
        for (uint i = 1u; i < gl_NumSubgroups; ++i) value = JOIN(value, reduce_slots[i]); \
        return value;                                                        \
    }
#else
#define REDUCE(NAME, SUBGROUP_OP, JOIN)                                      \
    float NAME(float value) {                                                \
        uint lane = gl_LocalInvocationID.x;                                  \
        barrier();                                                           \
        reduce_slots[lane] = value;                                          \
        barrier();                                                           \
        for (uint half_size = gl_WorkGroupSize.x / 2u; half_size > 0u; half_size /= 2u) { \
            if (lane < half_size) reduce_slots[lane] = JOIN(reduce_slots[lane], reduce_slots[lane + half_size]); \
            barrier();                                                       \
        }                                                                    \
        return reduce_slots[0];                                              \
    }
#endif

float reduce_add(float a, float b) { return a + b; }
REDUCE(workgroup_sum, subgroupAdd, reduce_add)
REDUCE(workgroup_max, subgroupMax, max)

// The first half of workgroup_sum, for kernels that join many sums at once: the sum over this invocation's part of the
// workgroup (its subgroup, or all of it), how many parts there are, and one invocation of each.
#ifdef USE_SUBGROUP
float part_sum(float value) { return subgroupAdd(value); }
uint parts() { return gl_NumSubgroups; }
bool is_first_of_part(uint part) { return gl_SubgroupID == part && subgroupElect(); }
#else
float part_sum(float value) { return workgroup_sum(value); }
uint parts() { return 1u; }
bool is_first_of_part(uint part) { return gl_LocalInvocationID.x == part; }
#endif
#endif
