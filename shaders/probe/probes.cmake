# Optional GLSL extensions, each tried at configure time with a tiny shader, probe/<name>.comp:
#   vantage_probe(name EXTENSION [REQUIRED])
vantage_probe(buffer_reference GL_EXT_buffer_reference_uvec2 REQUIRED)
vantage_probe(subgroup GL_KHR_shader_subgroup_arithmetic)
vantage_probe(fp16 GL_EXT_shader_explicit_arithmetic_types_float16)
vantage_probe(integer_dot GL_EXT_integer_dot_product)
vantage_probe(coopmat GL_KHR_cooperative_matrix)
vantage_probe(coopmat2 GL_NV_cooperative_matrix2)
vantage_probe(bfloat16 GL_EXT_bfloat16)
