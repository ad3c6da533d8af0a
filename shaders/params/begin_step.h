#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct BeginStepParams {
    uvec2 step;
    uint rows;  // of the run
};
VANTAGE_PARAMS_END
