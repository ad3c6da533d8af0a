// Sums and maxima over a workgroup (lib/workgroup_reduce.glsl). Include after local_size is declared.
#ifndef VANTAGE_REDUCE_GLSL
#define VANTAGE_REDUCE_GLSL
#include "lib/workgroup_reduce.glsl"

#ifdef ONE_SUBGROUP
#define LANE gl_SubgroupInvocationID  // gl_LocalInvocationID is made by divisions on CPU devices
#else
#define LANE gl_LocalInvocationID.x
shared float reduce_slots[gl_WorkGroupSize.x];
#endif

float reduce_add(float a, float b) { return a + b; }
float workgroup_sum(float value) { WORKGROUP_REDUCE(value, subgroupAdd(value), reduce_slots, reduce_add) }
float workgroup_max(float value) { WORKGROUP_REDUCE(value, subgroupMax(value), reduce_slots, max) }

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
