#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Floats { float at[]; };
void main() { at[0] = subgroupAdd(at[1]); }
