#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct JointLinearParams {
    uvec2 x;                    // (m, k)
    uvec2 w0, w1, w2;           // (n, k) each with an n of its own; w2 absent for two
    uvec2 bias0, bias1, bias2;  // (n) or absent
    uvec2 y0, y1, y2;           // (m, n); y0 alone where the first gates the second
    uint m, k;
    uint n0, n1, n2;
};
VANTAGE_PARAMS_END
