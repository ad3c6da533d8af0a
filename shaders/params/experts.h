#include "params/types.h"
#ifndef VANTAGE_EXPERTS_H
#define VANTAGE_EXPERTS_H
VANTAGE_PARAMS_BEGIN
#define MAX_EXPERTS_PER_TOKEN 64  // chosen ones are kept in shared memory
struct RouteParams {
    uvec2 logits, step;          // (rows, experts); steps or 0
    uvec2 probs, index, weight;  // (rows, experts) f32; (rows, top_k) i32, f32
    uint rows, experts, top_k;
    uint renormalise;  // 1: the chosen weights are divided by their sum
    uint rows_each;    // of a sequence
};
// A choice is one of the top_k of a token: choice c of token t is t top_k + c.
struct SortByExpertParams {
    uvec2 index;                  // (choices) i32, -1 = none
    uvec2 slots, order, offsets;  // (choices), (choices), (experts + 2)
    uint choices, experts;
    uint capacity;  // choices that an expert takes
};
struct ExpertLinearParams {
    uvec2 x, w, bias;                    // (choices / share, k), (experts, n, k) or (experts, k, n), (experts, n) or 0
    uvec2 index, slots, order, offsets;  // as above
    uvec2 y;                             // (choices, n)
    uint choices, experts, n, k;
    uint share;  // choices that read the same row of x: top_k, or 1
};
struct ExpertGradientParams {
    uvec2 dy, x;           // (choices, n), (choices / share, k)
    uvec2 order, offsets;  // as above
    uvec2 dw, dbias;       // f32, as w and bias of ExpertLinearParams; dbias may be 0
    uint experts, n, k, share;
};
struct RouteBackwardParams {
    uvec2 probs, index, weight;  // as in RouteParams
    uvec2 dprobs, dweight;       // like probs and weight, either may be 0
    uvec2 dlogits;               // (rows, experts)
    uint rows, experts, top_k, renormalise;
};
struct LoadBalanceBackwardParams {
    uvec2 index, dloss, dprobs;  // (rows, top_k), (1), (rows, experts)
    uint rows, experts, top_k;
};
struct LoadBalanceParams {
    uvec2 probs, index;  // (rows, experts), (rows, top_k)
    uvec2 loss;          // (1)
    uint rows, experts, top_k;
};
VANTAGE_PARAMS_END

#define ROUTE_CONSTANTS(C) C(1, uint, X_TYPE, 0) /* logits */
VANTAGE_CONSTANTS(RouteConstants, VANTAGE_NO_CONSTANTS, ROUTE_CONSTANTS)

#define EXPERT_LINEAR_CONSTANTS(C)   \
    C(1, uint, X_TYPE, 0) /* x, y */ \
    C(2, uint, W_TYPE, 0)            \
    C(3, uint, BIAS_TYPE, 0)         \
    C(4, bool, TRANSPOSED, true) /* W is (n, k) and not (k, n) */
VANTAGE_CONSTANTS(ExpertLinearConstants, VANTAGE_NO_CONSTANTS, EXPERT_LINEAR_CONSTANTS)

#define EXPERT_GRADIENT_CONSTANTS(C) \
    C(1, uint, DY_TYPE, 0)           \
    C(2, uint, X_TYPE, 0)            \
    C(3, bool, TRANSPOSED, true) /* W is (n, k) and not (k, n) */
VANTAGE_CONSTANTS(ExpertGradientConstants, VANTAGE_NO_CONSTANTS, EXPERT_GRADIENT_CONSTANTS)

#define EXPERT_LINEAR_ROWS_CONSTANTS(C) C(5, uint, STEP, 1) /* 4 where k % 4 == 0 */
VANTAGE_CONSTANTS(ExpertLinearRowsConstants, EXPERT_LINEAR_CONSTANTS, EXPERT_LINEAR_ROWS_CONSTANTS)

#define EXPERT_LINEAR_TILED_CONSTANTS(C)           \
    C(5, uint, STEP_K, 1) /* 4 where k % 4 == 0 */ \
    C(6, uint, STEP_N, 1) /* 4 where n % 4 == 0 */ \
    C(7, bool, PREFETCH, false)
VANTAGE_CONSTANTS(ExpertLinearTiledConstants, EXPERT_LINEAR_CONSTANTS, EXPERT_LINEAR_TILED_CONSTANTS)

#define EXPERT_LINEAR_COOPMAT_CONSTANTS(C) /* as those of matmul */ \
    C(5, uint, M, 16)                                               \
    C(6, uint, N, 16)                                               \
    C(7, uint, K, 16)                                               \
    C(8, uint, SUBGROUPS_M, 2)                                      \
    C(9, uint, SUBGROUPS_N, 2)                                      \
    C(10, uint, REPEAT_M, 2)                                        \
    C(11, uint, REPEAT_N, 2)                                        \
    C(12, uint, DEPTH, 32)                                          \
    C(13, uint, BUFFERS, 1)                                         \
    C(14, bool, TAIL, true)                                         \
    C(15, uint, STEP_N, 1)
VANTAGE_CONSTANTS(ExpertLinearCoopmatConstants, EXPERT_LINEAR_CONSTANTS, EXPERT_LINEAR_COOPMAT_CONSTANTS)
#endif
