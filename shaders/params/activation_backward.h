#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct ActivationBackwardParams {
    uvec2 dy, x, dx;   // (count)
    uint count, kind;  // params/activation.h
    float parameter;
};
VANTAGE_PARAMS_END

#define ACTIVATION_BACKWARD_CONSTANTS(C) \
    C(1, uint, DY_TYPE, 0) /* dy, dx */  \
    C(2, uint, X_TYPE, 0)
VANTAGE_CONSTANTS(ActivationBackwardConstants, VANTAGE_NO_CONSTANTS, ACTIVATION_BACKWARD_CONSTANTS)
