// c += a b by cooperative matrices that stay in registers: how many operations a second the matrix units do.
//
// Two rows of a meet two columns of b, as in a matmul: four chains, each the work of one subgroup. The factors are read
// from memory, or a compiler that sees equal elements multiplies one.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#include "lib/storage.glsl"
#include "params/bench.h"

layout(local_size_x = 128, local_size_x_id = 0) in;
BENCH_MATRIX_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer Factors { FACTOR at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) restrict writeonly buffer Sums { SUM at[]; };
layout(push_constant) uniform Push { BenchParams p; };

#define A coopmat<FACTOR, gl_ScopeSubgroup, M, K, gl_MatrixUseA>
#define B coopmat<FACTOR, gl_ScopeSubgroup, K, N, gl_MatrixUseB>
#define C coopmat<SUM, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>

void main() {
    A a0, a1;
    B b0, b1;
    coopMatLoad(a0, Factors(p.x).at, 0, K, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(a1, Factors(p.x).at, M * K, K, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(b0, Factors(p.x).at, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(b1, Factors(p.x).at, K * N, N, gl_CooperativeMatrixLayoutRowMajor);
    C c00 = C(SUM(0)), c01 = C(SUM(0)), c10 = C(SUM(0)), c11 = C(SUM(0));
    for (uint pass = 0u; pass < p.passes; ++pass) {
        [[unroll]] for (uint k = 0u; k < 4u; ++k) {
            c00 = coopMatMulAdd(a0, b0, c00);
            c01 = coopMatMulAdd(a0, b1, c01);
            c10 = coopMatMulAdd(a1, b0, c10);
            c11 = coopMatMulAdd(a1, b1, c11);
        }
    }
    uint tile = workgroup_index() * gl_NumSubgroups + gl_SubgroupID;
    coopMatStore(c00 + c01 + c10 + c11, Sums(p.y).at, tile * M * N, N, gl_CooperativeMatrixLayoutRowMajor);
}
