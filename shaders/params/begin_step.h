#include "params/types.h"
#ifndef VANTAGE_BEGIN_STEP_H
#define VANTAGE_BEGIN_STEP_H
VANTAGE_PARAMS_BEGIN
struct BeginStepParams {
    uvec2 step;
    uint rows;  // that the run has of a sequence
};
VANTAGE_PARAMS_END
#endif
