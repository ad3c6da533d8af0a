#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct RepetitionPenaltyParams {
    uvec2 x, seen, y;  // (count / cols, cols), (ceil(cols / 32)) bits, as x
    uint count, cols;
    float penalty;
};
VANTAGE_PARAMS_END
