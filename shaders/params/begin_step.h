#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct BeginStepParams {
    uvec2 step;
    uint rows;  // that the run has of a sequence
};
VANTAGE_PARAMS_END
