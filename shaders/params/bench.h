#include "params/types.h"
#ifndef VANTAGE_BENCH_H
#define VANTAGE_BENCH_H
VANTAGE_PARAMS_BEGIN
struct BenchParams {
    uvec2 x, y;    // what is read and what is written
    uint chunks;   // copy: x and y are so many; a workgroup moves one
    uint passes;   // how often the body runs
    float factor;  // operands that no compiler knows
    float summand;
};
VANTAGE_PARAMS_END
#endif
