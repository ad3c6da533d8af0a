#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct MatmulParams {
    uvec2 a, b, bias, residual;  // (batch, m, k), (batch, k, n), (n) or 0, (batch, m, n) or 0
    uvec2 c;                     // (batch, m, n)
    uint m, n, k;
    uint batches, inner_batches;  // batch z is (z / inner_batches, z % inner_batches)
    uint a_outer, a_inner;        // elements from one batch of a to the next; 0 where it is broadcast
    uint b_outer, b_inner;
    float alpha, beta;
};
VANTAGE_PARAMS_END
