#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_spirv_intrinsics : require
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Words { uint at[]; };
spirv_instruction(extensions = ["SPV_VALVE_mixed_float_dot_product"], capabilities = [6912], id = 6916)
float dot2(f16vec2 a, f16vec2 b, float sum);
void main() { at[0] = floatBitsToUint(dot2(unpackFloat2x16(at[1]), unpackFloat2x16(at[2]), uintBitsToFloat(at[3]))); }
