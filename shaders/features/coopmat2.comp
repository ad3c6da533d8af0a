#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 256) in;
layout(std430, binding = 0) buffer Floats { float at[]; };
float larger(const in float a, const in float b) { return max(a, b); }
void main() {
    coopmat<float, gl_ScopeWorkgroup, 32, 32, gl_MatrixUseAccumulator> c = coopmat<float, gl_ScopeWorkgroup, 32, 32, gl_MatrixUseAccumulator>(1.0), r;
    coopMatReduceNV(r, c, gl_CooperativeMatrixReduceRowNV, larger);
    coopMatStore(r, at, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
}
