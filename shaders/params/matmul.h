#include "params/types.h"
#ifndef VANTAGE_MATMUL_H
#define VANTAGE_MATMUL_H
VANTAGE_PARAMS_BEGIN
struct MatmulParams {
    uvec2 a, b, bias, residual;  // (batch, m, k), (batch, k, n), (n) or 0, (batch, m, n) or 0
    uvec2 c;  // (batch, m, n); with several parts f32 (parts, batch, m, n), sums that matmul/reduce_splits.comp adds
    uint m, n, k;
    uint batches, inner_batches;  // batch z is (z / inner_batches, z % inner_batches)
    uint a_outer, a_inner;        // elements from one batch of a to the next; 0 where it is broadcast
    uint b_outer, b_inner;
    uint k_per_split,
        k_splits;  // k is shared out in parts of k_per_split; parts = ceil(k / k_per_split), 1 where it is not
    float alpha, beta;
};
VANTAGE_PARAMS_END
#endif
