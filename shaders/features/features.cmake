# Optional GLSL extensions, each tried at configure time with a tiny shader, features/<name>.comp:
#   vantage_feature(name EXTENSION [REQUIRED])
vantage_feature(buffer_reference GL_EXT_buffer_reference_uvec2 REQUIRED)
vantage_feature(subgroup GL_KHR_shader_subgroup_arithmetic)
vantage_feature(fp16 GL_EXT_shader_explicit_arithmetic_types_float16)
vantage_feature(integer_dot GL_EXT_integer_dot_product)
vantage_feature(coopmat GL_KHR_cooperative_matrix)
vantage_feature(coopmat2 GL_NV_cooperative_matrix2)
vantage_feature(bfloat16 GL_EXT_bfloat16)
