#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct BenchParams {
    uvec2 x, y;    // what is read and what is written
    uint chunks;   // copy: x and y are so many; a workgroup moves one
    uint passes;   // how often the body runs
    float factor;  // operands that no compiler knows
    float summand;
};
VANTAGE_PARAMS_END

#define BENCH_FMA_CONSTANTS(C) \
    C(1, uint, SALT, 0) /* another value is another kernel: for the time that compiling takes */
VANTAGE_CONSTANTS(BenchFmaConstants, VANTAGE_NO_CONSTANTS, BENCH_FMA_CONSTANTS)

#define BENCH_MATRIX_CONSTANTS(C) \
    C(1, uint, M, 16)             \
    C(2, uint, N, 16)             \
    C(3, uint, K, 16)
VANTAGE_CONSTANTS(BenchMatrixConstants, VANTAGE_NO_CONSTANTS, BENCH_MATRIX_CONSTANTS)

#define BENCH_COPY_CONSTANTS(C) \
    C(1, uint, EACH, 4)         \
    C(2, bool, WRITES, true)
VANTAGE_CONSTANTS(BenchCopyConstants, VANTAGE_NO_CONSTANTS, BENCH_COPY_CONSTANTS)
