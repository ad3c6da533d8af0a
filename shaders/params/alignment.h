#include "params/types.h"
#ifndef VANTAGE_ALIGNMENT_H
#define VANTAGE_ALIGNMENT_H
VANTAGE_PARAMS_BEGIN
struct AlignmentParams {
    uvec2 q, k, v, w;    // (lanes * rows, width), (sequences * keys, width), (sequences * keys, features), (width) or 0
    uvec2 step, kv_len;  // steps or 0; (sequences) i32 or 0
    uvec2 c, s, lse;     // (lanes * rows, features), (lanes * rows, keys), (lanes * rows), f32
    uint lanes, rows, keys, width, features;
};
VANTAGE_PARAMS_END

#define ALIGNMENT_CONSTANTS(C)                                   \
    C(1, uint, Q_TYPE, 0)                                        \
    C(2, uint, KV_TYPE, 0)                                       \
    C(3, uint, W_TYPE, 0)                                        \
    C(4, uint, STEP, 1) /* of q and k: 4 where width % 4 == 0 */ \
    C(5, bool, ADDITIVE, false)
VANTAGE_CONSTANTS(AlignmentConstants, VANTAGE_NO_CONSTANTS, ALIGNMENT_CONSTANTS)
#endif
