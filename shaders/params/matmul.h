#include "params/types.h"
#ifndef VANTAGE_MATMUL_H
#define VANTAGE_MATMUL_H
VANTAGE_PARAMS_BEGIN
struct MatmulParams {
    uvec2 a, b, bias, residual;  // (batch, m, k), (batch, k, n), (n) or 0, (batch, m, n) or 0
    uvec2 c;  // (batch, m, n); if k is split, f32 (k_splits, batch, m, n) for matmul/reduce_splits.comp
    uint m, n, k;
    uint batches, inner_batches;  // batch z is (z / inner_batches, z % inner_batches)
    uint a_outer, a_inner;        // elements from one batch of a to the next; 0 where it is broadcast
    uint b_outer, b_inner;
    uint k_per_split, k_splits;  // k_splits = ceil(k / k_per_split), 1 if k is not split
    float alpha, beta;
};
VANTAGE_PARAMS_END

#define MATMUL_CONSTANTS(C)                    \
    C(1, uint, A_TYPE, 0) /* a, c, residual */ \
    C(2, uint, B_TYPE, 0)                      \
    C(3, uint, BIAS_TYPE, 0)                   \
    C(4, bool, TRANSPOSE_A, false)             \
    C(5, bool, TRANSPOSE_B, false)             \
    C(6, uint, ACTIVATION, 0)
VANTAGE_CONSTANTS(MatmulConstants, VANTAGE_NO_CONSTANTS, MATMUL_CONSTANTS)

#define MATMUL_ROWS_CONSTANTS(C)                       \
    C(7, uint, ROWS, 1)       /* 1, 4 or 8 */          \
    C(8, uint, STEP, 1)       /* 4 where k % 4 == 0 */ \
    C(9, bool, OCTETS, false) /* b has 16 bits, k % 8 == 0 */
VANTAGE_CONSTANTS(MatmulRowsConstants, MATMUL_CONSTANTS, MATMUL_ROWS_CONSTANTS)

#define MATMUL_QUANTIZED_ROWS_CONSTANTS(C) \
    C(7, uint, ROWS, 1) /* 1, 4 or 8 */    \
    C(8, uint, COLS, 1)                    \
    C(9, bool, ALIGNED, false) /* rows of b begin with a group */
VANTAGE_CONSTANTS(MatmulQuantizedRowsConstants, MATMUL_CONSTANTS, MATMUL_QUANTIZED_ROWS_CONSTANTS)

#define MATMUL_TILED_CONSTANTS(C)                                      \
    C(7, uint, SIDE_X, 16)   /* lanes along the columns of the tile */ \
    C(8, uint, SIDE_Y, 16)   /* and along its rows */                  \
    C(9, uint, EACH_ROWS, 8) /* rows and columns of a lane */          \
    C(10, uint, EACH_COLS, 4)                                          \
    C(11, uint, QUADS, 4)  /* a slice has 4 QUADS elements of k */     \
    C(12, uint, STEP_K, 1) /* 4 where k % 4 == 0 */                    \
    C(13, uint, STEP_N, 1) /* 4 where n % 4 == 0 */
VANTAGE_CONSTANTS(MatmulTiledConstants, MATMUL_CONSTANTS, MATMUL_TILED_CONSTANTS)

#define MATMUL_FP16_CONSTANTS(C)                   \
    C(7, uint, EACH_ROWS, 8)                       \
    C(8, uint, STEP_N, 1) /* 4 where n % 4 == 0 */ \
    C(9, uint, STEP_K, 1) /* 8 where k % 8 == 0 */
VANTAGE_CONSTANTS(MatmulFp16Constants, MATMUL_CONSTANTS, MATMUL_FP16_CONSTANTS)

#define MATMUL_INT8_CONSTANTS(C) \
    C(7, uint, EACH_ROWS, 8)     \
    C(8, uint, STEP_N, 1) /* 4 where n % 4 == 0 */
VANTAGE_CONSTANTS(MatmulInt8Constants, MATMUL_CONSTANTS, MATMUL_INT8_CONSTANTS)

#define MATMUL_COOPMAT_CONSTANTS(C)                                                         \
    C(7, uint, M, 16)                                                                       \
    C(8, uint, N, 16)                                                                       \
    C(9, uint, K, 16)                                                                       \
    C(10, uint, SUBGROUPS_M, 2)                                                             \
    C(11, uint, SUBGROUPS_N, 2)                                                             \
    C(12, uint, REPEAT_M, 2)                                                                \
    C(13, uint, REPEAT_N, 2)                                                                \
    C(14, uint, DEPTH, 32)                                                                  \
    C(15, uint, STEP_A, 1) /* 8 where lines of a begin on a boundary of 8 elements */       \
    C(16, uint, STEP_B, 1)                                                                  \
    C(17, uint, STEP_N, 1)  /* 4 where n % 4 == 0 */                                        \
    C(18, uint, BUFFERS, 1) /* slices in shared memory: with 2 a slice costs one barrier */ \
    C(19, bool, TAIL, true) /* k % DEPTH > 0 */
VANTAGE_CONSTANTS(MatmulCoopmatConstants, MATMUL_CONSTANTS, MATMUL_COOPMAT_CONSTANTS)

#define MATMUL_REDUCE_SPLITS_CONSTANTS(C) C(7, uint, STEP_N, 1) /* 4 where n % 4 == 0 */
VANTAGE_CONSTANTS(MatmulReduceSplitsConstants, MATMUL_CONSTANTS, MATMUL_REDUCE_SPLITS_CONSTANTS)

#define MATMUL_GEMV_CPU_CONSTANTS(C)    \
    C(7, uint, ROWS, 1) /* 1, 4 or 8 */ \
    C(8, uint, COLS, 8) /* ROWS * COLS is a multiple of LANES */
VANTAGE_CONSTANTS(MatmulGemvCpuConstants, MATMUL_CONSTANTS, MATMUL_GEMV_CPU_CONSTANTS)

#define MATMUL_GEMM_CPU_CONSTANTS(C) C(7, uint, DEPTH, 32)
VANTAGE_CONSTANTS(MatmulGemmCpuConstants, MATMUL_CONSTANTS, MATMUL_GEMM_CPU_CONSTANTS)

#define MATMUL_GEMM_CPU_PACK_CONSTANTS(C) \
    C(7, uint, DEPTH, 32) /* as above */  \
    C(8, bool, OF_B, false)               \
    C(9, uint, STEP, 1) /* 4 where k % 4 == 0 */
VANTAGE_CONSTANTS(MatmulGemmCpuPackConstants, MATMUL_CONSTANTS, MATMUL_GEMM_CPU_PACK_CONSTANTS)
#endif
