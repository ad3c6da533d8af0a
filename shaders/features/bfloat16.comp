#version 460
#extension GL_EXT_bfloat16 : require
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Halves { bfloat16_t at[]; };
void main() { at[0] = bfloat16_t(float(at[1]) * 2.0); }
