// Flat grids: x spills into y where a device allows few workgroups in x.
#ifndef VANTAGE_INDEX_GLSL
#define VANTAGE_INDEX_GLSL
uint workgroup_index() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
uint invocation_index() { return workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x; }
uint invocation_count() { return gl_NumWorkGroups.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x; }
#endif
