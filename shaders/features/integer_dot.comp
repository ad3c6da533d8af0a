#version 460
#extension GL_EXT_integer_dot_product : require
#extension GL_EXT_shader_explicit_arithmetic_types_int32 : require
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Words { int at[]; };
void main() { at[0] = dotPacked4x8AccSatEXT(at[1], at[2], at[3]); }
